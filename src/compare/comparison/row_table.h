// SPDX-License-Identifier: Apache-2.0
// The tables of a comparison: rows as CSV, the same as xlsx, and as JSON for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "tables/csv_text.h"
#include "tables/output_file.h"
#include "tables/xlsx_table.h"

namespace msprobe::comparison {

// Title and cell of a column share a row of a table of columns, so they cannot drift apart.
// `Source`: what append() is given besides the output.
template <class... Source>
struct Column {
  std::string_view title;
  void (*append)(std::string& out, const Source&... source);
  bool is_text = false;  // never a number, whatever it looks like: the checksum 234161e3
};

// Rows as text. Threads make them, one thread writes them.
struct RowTexts {
  std::string csv;                        // without line ends
  std::vector<std::uint32_t> sizes;       // of each row in `csv`
  std::string cells;                      // for the workbook: cells as they are, unquoted
  std::vector<std::uint32_t> cell_sizes;  // of each cell; empty: no workbook is wanted
  std::vector<tables::RowMark> marks;     // of each row

  void clear();
  void add(const RowTexts& rows);
};

// Appends the row that `source` describes.
template <class... Source>
void append_row(RowTexts& out, std::span<const Column<Source...>> columns, bool with_cells,
                tables::RowMark mark, const Source&... source) {
  const std::size_t before = out.csv.size();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out.csv += ',';
    const std::size_t start = out.csv.size();
    columns[i].append(out.csv, source...);
    if (with_cells) {
      out.cells.append(out.csv, start);
      out.cell_sizes.push_back(static_cast<std::uint32_t>(out.csv.size() - start));
    }
    tables::finish_cell(out.csv, start);
  }
  out.sizes.push_back(static_cast<std::uint32_t>(out.csv.size() - before));
  out.marks.push_back(mark);
}

// How the files of a kind of comparison begin and end their lines.
struct CsvStyle {
  std::string_view start;
  std::string_view line_end;
};
inline constexpr CsvStyle kDumpStyle{"", "\n"};
inline constexpr CsvStyle kGraphStyle{tables::kByteOrderMark, tables::kRecordEnd};

struct TableTitle {
  std::string text;
  bool is_text = false;
};
template <class... Source>
std::vector<TableTitle> titles_of(std::span<const Column<Source...>> columns) {
  std::vector<TableTitle> titles;
  for (const auto& column : columns) titles.push_back({std::string(column.title), column.is_text});
  return titles;
}

// One table: a CSV and, if wanted, a workbook, under a name that no other run of the same second
// has. Files appear under their names when they are complete.
class RowTable {
 public:
  struct Place {
    std::filesystem::path directory;
    std::string stem;
    bool xlsx = false;
  };
  static Result<RowTable> create(Place place, CsvStyle style, std::vector<TableTitle> titles);

  // More than `rows_of_file` of `all` rows go to several CSVs, STEM_part_1.csv and so on. Called
  // before the first row is added.
  void expect(std::size_t all, std::size_t rows_of_file);
  // `last`: the last cell of each row, where the rows lack it.
  Result<void> add(const RowTexts& rows, std::span<const std::string_view> last = {});
  // Names the files.
  Result<std::vector<std::filesystem::path>> finish();

  std::string title_line() const;

 private:
  RowTable(Place place, CsvStyle style, std::vector<TableTitle> titles, tables::OutputFile csv)
      : place_(std::move(place)), style_(style), titles_(std::move(titles)), csv_(std::move(csv)) {}
  Result<void> open_next();
  void add_to_sheet(const RowTexts& rows, std::span<const std::string_view> last);

  Place place_;
  CsvStyle style_;
  std::vector<TableTitle> titles_;
  tables::OutputFile csv_;
  std::optional<tables::XlsxTable> sheet_;
  std::size_t rows_ = 0;
  std::size_t rows_of_file_ = 0;  // 0: one file has all of them
  bool has_titles_ = false;
  std::vector<std::filesystem::path> written_;
};

// Rows as the member "rows" of a JSON object; what is known at the end follows them.
class RowsJson {
 public:
  // An error if `path` is a directory or cannot be written.
  static Result<RowsJson> create(const std::string& path);

  // Objects joined by ",\n"; none is fine.
  Result<void> add(std::string_view objects);
  // `tail`: the other members, as a JSON object.
  Result<void> finish(std::string_view tail);

 private:
  explicit RowsJson(tables::OutputFile file) : file_(std::move(file)) {}
  tables::OutputFile file_;
  bool has_rows_ = false;
};

}  // namespace msprobe::comparison
