// SPDX-License-Identifier: Apache-2.0
// A row of a details CSV as a row of a report.
#pragma once

#include <string>
#include <string_view>

#include "documented/detail_row.h"
#include "report/report_data.h"

namespace msprobe::report {

// XML and JSON hold UTF-8 only; other bytes of a CSV are shown as such.
std::string utf8(std::string_view text);

// A cell without its padding.
std::string shown_text(std::string_view cell);

// Names of the older recorder's calls in the form of all others.
void take_dots(std::string& name);

inline constexpr std::string_view kErrorOverBound = "Error over bound";  // as a metric

// All but its part, numbers and limits.
ReportRow report_row(const documented::DetailRow& row);

}  // namespace msprobe::report
