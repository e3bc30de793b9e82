// SPDX-License-Identifier: Apache-2.0
#include "ge/statistics_file.h"

#include <charconv>
#include <map>

#include <fmt/format.h>

#include "ge/element_type.h"

namespace msprobe::ge {
namespace {

using Cells = std::vector<std::string_view>;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

Cells split(std::string_view line) {
  Cells cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// "2x3"; "-" is a scalar.
std::optional<Shape> parse_shape(std::string_view text) {
  Shape shape;
  if (text == "-") return shape;
  while (!text.empty()) {
    std::int64_t extent = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (parsed.ec != std::errc()) return std::nullopt;
    shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    if (text.empty()) break;
    if (text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
  return shape;
}

class Table {
 public:
  explicit Table(const Cells& titles) {
    for (std::size_t i = 0; i < titles.size(); ++i) places_.try_emplace(titles[i], i);
  }
  bool has(std::string_view title) const { return places_.contains(title); }
  std::string_view cell(const Cells& cells, std::string_view title) const {
    const auto place = places_.find(title);
    return place == places_.end() || place->second >= cells.size() ? std::string_view()
                                                                   : cells[place->second];
  }

 private:
  std::map<std::string_view, std::size_t> places_;
};

bool read_number(std::string_view cell, std::optional<double>& number) {
  if (cell.empty() || cell == "NA" || cell == "-") return true;
  double value = 0;
  const auto parsed = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (parsed.ec == std::errc::invalid_argument || parsed.ptr != cell.data() + cell.size()) {
    return false;
  }
  number = value;
  return true;
}

Result<TensorStatistics> read_line(const Table& table, const Cells& cells, std::size_t line) {
  const auto wrong = [&](std::string_view title) {
    return fail(ErrorKind::kFormat,
                fmt::format("line {}: unexpected {} '{}'", line, title, table.cell(cells, title)));
  };
  TensorStatistics row;
  const std::string_view side = table.cell(cells, "Input/Output");
  if (side != "Input" && side != "Output") return wrong("Input/Output");
  row.is_output = side == "Output";
  const std::string_view index = table.cell(cells, "Index");
  const auto parsed = std::from_chars(index.data(), index.data() + index.size(), row.index);
  if (parsed.ec != std::errc() || parsed.ptr != index.data() + index.size()) return wrong("Index");
  const ElementType* type = element_type(table.cell(cells, "Data Type"));
  if (type != nullptr) row.type_text = type->text;
  row.format = table.cell(cells, "Format");
  row.shape = parse_shape(table.cell(cells, "Shape"));
  struct Column {
    std::string_view title;
    std::optional<double> TensorStatistics::* member;
  };
  constexpr Column kColumns[] = {{"Max Value", &TensorStatistics::max},
                                 {"Min Value", &TensorStatistics::min},
                                 {"Avg Value", &TensorStatistics::mean},
                                 {"l2norm", &TensorStatistics::l2_norm},
                                 {"Nan Count", &TensorStatistics::nan_count}};
  for (const Column& column : kColumns) {
    if (!read_number(table.cell(cells, column.title), row.*column.member)) {
      return wrong(column.title);
    }
  }
  return row;
}

}  // namespace

Result<std::vector<TensorStatistics>> read_statistics(std::string_view text) {
  std::vector<TensorStatistics> rows;
  std::optional<Table> table;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view record = text.substr(0, end);
    const bool cut_off = end == text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trimmed(record).empty()) continue;
    const Cells cells = split(record);
    if (!table) {
      table.emplace(cells);
      if (!table->has("Input/Output") || !table->has("Index")) {
        return fail(ErrorKind::kFormat, "the first line has no titles of a statistics file");
      }
      continue;
    }
    if (cut_off) return fail(ErrorKind::kFormat, fmt::format("line {} is cut off", line));
    Result<TensorStatistics> row = read_line(*table, cells, line);
    if (!row) return propagate(row);
    rows.push_back(std::move(*row));
  }
  if (!table) return fail(ErrorKind::kFormat, "the file is empty");
  return rows;
}

}  // namespace msprobe::ge
