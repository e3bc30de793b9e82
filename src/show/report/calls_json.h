// SPDX-License-Identifier: Apache-2.0
// `msprobe report --json`: every call of the results with its rows and all their numbers, for
// programs. docs/report.md says what each key holds.
#pragma once

#include <span>
#include <string>

#include "report/report_data.h"

namespace msprobe::report {

std::string calls_json(std::span<const ReportRun> runs);

}  // namespace msprobe::report
