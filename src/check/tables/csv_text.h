// SPDX-License-Identifier: Apache-2.0
// Records as bytes of a CSV: UTF-8 with a byte-order mark at the start of the file, CR LF behind
// every record, quotes only where a cell needs them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace msprobe::tables {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline constexpr std::string_view kRecordEnd = "\r\n";

// Appends one cell, quoted if it holds a comma, a quote or a line end. Text that a spreadsheet
// would run as a formula gets an apostrophe in front, which spreadsheets do not show; what a person
// could not see is escaped (core/visible_text.h).
void append_text(std::string& out, std::string_view text);

// Makes a cell of the text behind `start`: what append_text would have made of it, mostly without
// touching it again.
void finish_cell(std::string& out, std::size_t start);

// The text append_text was given, escapes apart: takes the apostrophe off again.
std::string_view without_guard(std::string_view text);

}  // namespace msprobe::tables
