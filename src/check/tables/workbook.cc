// SPDX-License-Identifier: Apache-2.0
#include "tables/workbook.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/file.h"
#include "tables/csv_reader.h"
#include "tables/xlsx_table.h"

namespace msprobe::tables {
namespace {

// A sheet's name has at most 31 characters; a table of millions of rows needs a number behind it.
constexpr std::size_t kLongestName = 25;

// The verdicts of all our tables, with the documented marks.
struct MarkedText {
  std::string_view text;
  RowMark mark;
};
constexpr std::array<MarkedText, 8> kMarkedTexts = {{{"pass", RowMark::kNormal},
                                                     {"True", RowMark::kNormal},
                                                     {"warning", RowMark::kSuspicious},
                                                     {"documented only", RowMark::kSuspicious},
                                                     {"error", RowMark::kAbnormal},
                                                     {"False", RowMark::kAbnormal},
                                                     {"device wrong", RowMark::kAbnormal},
                                                     {"both wrong", RowMark::kAbnormal}}};

RowMark mark_of(std::string_view text) {
  const auto* found = std::ranges::find(kMarkedTexts, text, &MarkedText::text);
  return found == kMarkedTexts.end() ? RowMark::kNone : found->mark;
}

// A name that every spreadsheet takes and that is not used yet.
std::string sheet_name(std::string name, std::set<std::string>& used) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != ' ') c = '-';
  }
  name.resize(std::min(name.size(), kLongestName));
  const std::string start = name.substr(0, kLongestName - 4);
  for (int number = 2; !used.insert(name).second; ++number) {
    name = fmt::format("{} {}", start, number);
  }
  return name;
}

void add_rows(XlsxTable& table, CsvReader& csv, Result<bool>& more) {
  std::vector<XlsxCell> cells;
  for (more = csv.next(); more && *more; more = csv.next()) {
    cells.clear();
    for (const std::string_view text : csv.cells()) {
      cells.push_back({.text = std::string(text), .mark = mark_of(text)});
    }
    table.add(cells, RowMark::kNone);
  }
}

}  // namespace

Result<void> write_workbook(const std::filesystem::path& path, std::span<const Sheet> sheets) {
  std::optional<XlsxTable> table;
  std::set<std::string> used;
  for (const Sheet& sheet : sheets) {
    const Result<FileBytes> file = load_file(sheet.csv);
    if (!file) return propagate(file);
    CsvReader csv(file->text(), sheet.csv.string());
    Result<bool> more = csv.next();
    if (!more) return propagate(more);
    std::vector<std::string> titles(csv.cells().begin(), csv.cells().end());
    std::string name = sheet_name(sheet.name, used);
    if (table) {
      table->start_table(std::move(titles), std::move(name));
    } else {
      Result<XlsxTable> created = XlsxTable::create(path, std::move(titles), std::move(name));
      if (!created) return propagate(created);
      table = std::move(*created);
    }
    add_rows(*table, csv, more);
    if (!more) return propagate(more);
  }
  if (!table) return {};
  const Result<bool> closed = table->close();
  if (!closed) return propagate(closed);
  return {};
}

}  // namespace msprobe::tables
