// SPDX-License-Identifier: Apache-2.0
// A column: its titles and the field it shows share a row, so a header can never drift from its
// cells. Writers and readers walk the same columns.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/result.h"
#include "core/verdict.h"
#include "documented/detail_row.h"
#include "documented/profile.h"
#include "tables/csv_reader.h"
#include "tables/csv_text.h"
#include "tables/number_text.h"

namespace msprobe::tables {

// --titles: the documents' English titles, or those of the public tool.
enum class Titles : std::uint8_t { kEnglish, kChinese };

// How the CSVs are written.
struct OutputOptions {
  Titles titles = Titles::kEnglish;
  std::optional<int> precision;  // decimals of the numbers; empty: as the configuration says
};

template <class Row>
using Field = std::variant<std::string Row::*, documented::Cell Row::*, Verdict Row::*,
                           std::optional<Verdict> Row::*, std::optional<double> Row::*>;

template <class Row>
struct Column {
  std::string_view english;
  std::string_view chinese;
  Field<Row> field;
  bool added = false;  // ours, not the documents': profile documented only

  std::string_view title(Titles titles) const {
    return titles == Titles::kEnglish ? english : chinese;
  }
};

// The columns a profile writes.
template <class Row>
std::span<const Column<Row>> columns_of(std::span<const Column<Row>> all,
                                        documented::Profile profile) {
  std::size_t count = all.size();
  while (profile == documented::Profile::kReference && count > 0 && all[count - 1].added) --count;
  return all.first(count);
}

// The first bytes of a file: byte-order mark and titles.
template <class Row>
std::string csv_header(std::span<const Column<Row>> columns, Titles titles) {
  std::string out(kByteOrderMark);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out += ',';
    append_text(out, columns[i].title(titles));
  }
  out += kRecordEnd;
  return out;
}

// How cells of a file are spelled.
struct CellStyle {
  int precision = kDefaultPrecision;  // decimals of a double
  bool shortest = false;              // instead: the fewest digits that read back to the same value
  std::string_view blank = documented::kBlankText;       // a metric or text that does not apply
  std::string_view no_verdict = documented::kBlankText;  // there was nothing to judge
  std::array<std::string_view, kVerdicts> verdicts = {"pass", "warning", "error", "SKIP",
                                                      "inconclusive"};  // by Verdict
};

// What a verdict column may hold: the documents' own have no inconclusive.
inline std::span<const std::string_view> verdicts_of(const CellStyle& style, bool documented) {
  const std::span<const std::string_view> all = style.verdicts;
  return documented ? all.first(static_cast<std::size_t>(Verdict::kInconclusive)) : all;
}

inline std::optional<Verdict> parse_verdict(std::string_view text, const CellStyle& style,
                                            bool documented = true) {
  const auto verdicts = verdicts_of(style, documented);
  const auto found = std::ranges::find(verdicts, text);
  if (found == verdicts.end()) return std::nullopt;
  return static_cast<Verdict>(found - verdicts.begin());
}

inline void append_field(std::string& out, const std::string& text, const CellStyle& style) {
  append_text(out, text == documented::kBlankText ? style.blank : std::string_view(text));
}
inline void append_field(std::string& out, const documented::Cell& cell, const CellStyle& style) {
  if (cell.blank()) {
    out += style.blank;
  } else if (style.shortest) {
    append_shortest(out, cell.value);
  } else {
    append_number(out, cell, style.precision);
  }
}
inline void append_field(std::string& out, Verdict verdict, const CellStyle& style) {
  out += style.verdicts[static_cast<std::size_t>(verdict)];
}
inline void append_field(std::string& out, std::optional<Verdict> verdict, const CellStyle& style) {
  if (verdict) return append_field(out, *verdict, style);
  out += style.no_verdict;
}
// Of few digits, whatever the decimals of the metrics are.
inline void append_field(std::string& out, std::optional<double> number, const CellStyle&) {
  if (number) fmt::format_to(std::back_inserter(out), "{:.3g}", *number);
}

template <class Row>
void append_record(std::string& out, std::span<const Column<Row>> columns, const Row& row,
                   const CellStyle& style) {
  // Our own columns are spelled alike in every file.
  const CellStyle own{.precision = style.precision};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out += ',';
    const CellStyle& used = columns[i].added ? own : style;
    std::visit([&](auto member) { append_field(out, row.*member, used); }, columns[i].field);
  }
  out += kRecordEnd;
}
template <class Row>
void append_record(std::string& out, std::span<const Column<Row>> columns, const Row& row,
                   int precision) {
  append_record(out, columns, row, CellStyle{.precision = precision});
}

}  // namespace msprobe::tables
