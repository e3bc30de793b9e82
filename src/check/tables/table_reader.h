// SPDX-License-Identifier: Apache-2.0
// Reads a CSV whose first record is titles, in either title set and any order, into rows.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "tables/column.h"
#include "tables/csv_reader.h"

namespace msprobe::tables {

// Equal up to the case of ASCII letters and blanks around: the public tool itself writes both "API
// name" and "API Name".
bool same_title(std::string_view one, std::string_view other);

template <class Row>
class TableReader {
 public:
  // Takes the titles in. `text` must outlive the reader. What a record does not say is as in
  // `blank`.
  static Result<TableReader> start(std::string_view text, std::string shown,
                                   std::span<const Column<Row>> columns, Row blank = {},
                                   const CellStyle& style = {}) {
    TableReader table(CsvReader(text, std::move(shown)), columns, std::move(blank), style);
    const Result<bool> titles = table.csv_.next();
    if (!titles) return propagate(titles);
    if (!*titles) {
      return fail(ErrorKind::kFormat, fmt::format("{}: empty, no titles", table.csv_.shown()));
    }
    table.locate();
    return table;
  }

  // The next row; false at the end. A row that cannot be trusted is given too, with problem() set.
  Result<bool> next(Row& row) {
    problem_.clear();
    const Result<bool> more = csv_.next();
    if (!more || !*more) return more;
    row = blank_;
    const auto& cells = csv_.cells();
    if (cells.size() > title_count_ || cells.size() < needed_count_) {
      note(fmt::format("{} cells, the titles have {}", cells.size(), title_count_));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!places_[i] || *places_[i] >= cells.size()) continue;
      const std::string_view cell = cells[*places_[i]];
      std::visit([&](auto member) { fill(row.*member, cell, columns_[i]); }, columns_[i].field);
    }
    return true;
  }

  // Why the row cannot be trusted: the wrong number of cells, text where a number belongs.
  const std::string& problem() const { return problem_; }

  bool has(const Column<Row>& column) const {
    return places_[static_cast<std::size_t>(&column - columns_.data())].has_value();
  }
  const CsvReader& csv() const { return csv_; }

 private:
  TableReader(CsvReader csv, std::span<const Column<Row>> columns, Row blank,
              const CellStyle& style)
      : csv_(std::move(csv)),
        columns_(columns),
        places_(columns.size()),
        blank_(std::move(blank)),
        style_(style) {}

  void locate() {
    const auto& titles = csv_.cells();
    title_count_ = titles.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      for (std::size_t place = 0; place < titles.size() && !places_[i]; ++place) {
        if (same_title(titles[place], columns_[i].english) ||
            same_title(titles[place], columns_[i].chinese)) {
          places_[i] = place;
          // The message comes last and the public tool leaves out an empty one.
          if (columns_[i].english != "Message" && !columns_[i].added) {
            needed_count_ = std::max(needed_count_, place + 1);
          }
        }
      }
    }
  }

  void note(std::string problem) {
    if (problem_.empty()) {
      problem_ = fmt::format("line {}: {}", csv_.line(), problem);
    }
  }

  void fill(std::string& text, std::string_view cell, const Column<Row>&) {
    text = is_blank(cell) ? documented::kBlankText : without_guard(cell);
  }
  bool is_blank(std::string_view cell) const {
    return style_.blank != documented::kBlankText && cell == style_.blank;
  }
  void fill(documented::Cell& value, std::string_view cell, const Column<Row>& column) {
    if (trim(cell).empty() || is_blank(cell)) return;
    const std::optional<double> number = parse_number(cell);
    if (!number) return note(fmt::format("{}: '{}' is not a number", column.english, cell));
    value = {documented::Cell::Kind::kDouble, *number};
  }
  void fill(std::optional<double>& value, std::string_view cell, const Column<Row>& column) {
    documented::Cell read;
    fill(read, cell, column);
    if (!read.blank()) value = read.value;
  }
  void fill(Verdict& verdict, std::string_view cell, const Column<Row>& column) {
    if (trim(cell).empty()) return;
    const CellStyle& style = column.added ? kOwnStyle : style_;
    const std::optional<Verdict> parsed = parse_verdict(trim(cell), style, !column.added);
    if (parsed) {
      verdict = *parsed;
    } else {
      note(fmt::format("{}: '{}' is not one of {}", column.english, cell,
                       fmt::join(verdicts_of(style, !column.added), ", ")));
    }
  }
  void fill(std::optional<Verdict>& verdict, std::string_view cell, const Column<Row>& column) {
    if (trim(cell).empty() || trim(cell) == style_.no_verdict) return;
    verdict.emplace();
    fill(*verdict, cell, column);
  }

  CsvReader csv_;
  std::span<const Column<Row>> columns_;
  std::vector<std::optional<std::size_t>> places_;  // of each column, where its title was found
  Row blank_;
  CellStyle style_;
  static constexpr CellStyle kOwnStyle{};  // of columns that are ours
  std::size_t title_count_ = 0;
  std::size_t needed_count_ = 0;
  std::string problem_;
};

}  // namespace msprobe::tables
