// SPDX-License-Identifier: Apache-2.0
// Numbers as the CSVs show them, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "documented/detail_row.h"

namespace msprobe::tables {

inline constexpr int kDefaultPrecision = 14;  // decimals; config.yaml may say 0..20

// Appends a metric: one space for a blank, bare integers, `precision` decimals for doubles, and the
// shortest text that reads back to the same value for single and half precision: 1.1920929e-07.
void append_number(std::string& out, const documented::Cell& cell, int precision);

// Appends a double as Python prints it: the fewest digits that read back to the same value, always
// with a point or an exponent: 1.0, 1e-08, nan, inf.
void append_shortest(std::string& out, double value);

// A number with blanks around it; "nan", "inf" and a leading plus are numbers too.
std::optional<double> parse_number(std::string_view text);

// Without the blanks (space, tab) around it.
std::string_view trim(std::string_view text);

}  // namespace msprobe::tables
