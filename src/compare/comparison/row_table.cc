// SPDX-License-Identifier: Apache-2.0
#include "comparison/row_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace msprobe::comparison {

namespace fs = std::filesystem;

void RowTexts::clear() {
  csv.clear();
  sizes.clear();
  cells.clear();
  cell_sizes.clear();
  marks.clear();
}

void RowTexts::add(const RowTexts& rows) {
  csv += rows.csv;
  sizes.insert(sizes.end(), rows.sizes.begin(), rows.sizes.end());
  cells += rows.cells;
  cell_sizes.insert(cell_sizes.end(), rows.cell_sizes.begin(), rows.cell_sizes.end());
  marks.insert(marks.end(), rows.marks.begin(), rows.marks.end());
}

Result<RowTable> RowTable::create(Place place, CsvStyle style, std::vector<TableTitle> titles) {
  Result<tables::FreeOutput> csv = tables::create_free(place.directory, place.stem, ".csv");
  if (!csv) return propagate(csv);
  place.stem += csv->number;
  const bool xlsx = place.xlsx;
  RowTable table(std::move(place), style, std::move(titles), std::move(csv->file));
  if (!xlsx) return table;
  std::vector<std::string> texts;
  for (const TableTitle& title : table.titles_) texts.push_back(title.text);
  Result<tables::XlsxTable> sheet = tables::XlsxTable::create(
      table.place_.directory / (table.place_.stem + ".xlsx"), std::move(texts));
  if (!sheet) return propagate(sheet);
  table.sheet_.emplace(*std::move(sheet));
  return table;
}

std::string RowTable::title_line() const {
  std::string line(style_.start);
  for (std::size_t i = 0; i < titles_.size(); ++i) {
    if (i > 0) line += ',';
    tables::append_text(line, titles_[i].text);
  }
  return line += style_.line_end;
}

void RowTable::expect(std::size_t all, std::size_t rows_of_file) {
  rows_of_file_ = all > rows_of_file ? rows_of_file : 0;
}

// The file that the next row belongs to.
Result<void> RowTable::open_next() {
  if (rows_of_file_ > 0 && rows_ % rows_of_file_ == 0) {
    if (has_titles_) {
      if (const auto done = csv_.commit(); !done) return propagate(done);
    }
    written_.push_back(place_.directory /
                       fmt::format("{}_part_{}.csv", place_.stem, rows_ / rows_of_file_ + 1));
    Result<tables::OutputFile> part = tables::OutputFile::create(written_.back());
    if (!part) return propagate(part);
    csv_ = *std::move(part);
    has_titles_ = false;
  }
  if (!std::exchange(has_titles_, true)) csv_.buffer() += title_line();
  return {};
}

Result<void> RowTable::add(const RowTexts& rows, std::span<const std::string_view> last) {
  std::string_view text = rows.csv;
  for (std::size_t i = 0; i < rows.sizes.size(); ++i) {
    if (const auto opened = open_next(); !opened) return propagate(opened);
    std::string& out = csv_.buffer();
    out += text.substr(0, rows.sizes[i]);
    text.remove_prefix(rows.sizes[i]);
    if (!last.empty()) {
      out += ',';
      out += last[i];
    }
    out += style_.line_end;
    ++rows_;
    if (const auto done = csv_.flush_if_full(); !done) return propagate(done);
  }
  if (sheet_) add_to_sheet(rows, last);
  return {};
}

void RowTable::add_to_sheet(const RowTexts& rows, std::span<const std::string_view> last) {
  std::string_view text = rows.cells;
  auto size = rows.cell_sizes.begin();
  std::vector<tables::XlsxCell> cells;
  for (const TableTitle& title : titles_) cells.push_back({{}, title.is_text});
  const std::size_t own = titles_.size() - (last.empty() ? 0 : 1);
  for (std::size_t row = 0; row < rows.marks.size(); ++row) {
    if (!last.empty()) cells.back().text = last[row];
    for (std::size_t i = 0; i < own; ++i, ++size) {
      cells[i].text = text.substr(0, *size);
      text.remove_prefix(*size);
    }
    sheet_->add(cells, rows.marks[row]);
  }
}

Result<std::vector<fs::path>> RowTable::finish() {
  if (rows_of_file_ == 0) {
    if (!has_titles_) csv_.buffer() += title_line();
    written_.push_back(place_.directory / (place_.stem + ".csv"));
  }
  if (const auto done = csv_.commit(); !done) return propagate(done);
  if (!sheet_) return written_;
  if (const auto done = sheet_->close(); !done) return propagate(done);
  written_.push_back(place_.directory / (place_.stem + ".xlsx"));
  return written_;
}

Result<RowsJson> RowsJson::create(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return fail(ErrorKind::kUsage, fmt::format("{}: --json needs the name of a file", path));
  }
  Result<tables::OutputFile> file = tables::OutputFile::create(path);
  if (!file) return propagate(file);
  RowsJson json(*std::move(file));
  json.file_.buffer() += "{\n\"rows\": [";
  return json;
}

Result<void> RowsJson::add(std::string_view objects) {
  if (objects.empty()) return {};
  file_.buffer() += std::exchange(has_rows_, true) ? ",\n" : "\n";
  file_.buffer() += objects;
  return file_.flush_if_full();
}

Result<void> RowsJson::finish(std::string_view tail) {
  // The tail is an object of its own: its opening brace makes way for the rows before it.
  file_.buffer() += "\n],";
  file_.buffer() += tail.substr(1);
  file_.buffer() += '\n';
  return file_.commit();
}

}  // namespace msprobe::comparison
