// SPDX-License-Identifier: Apache-2.0
// Runs -> JUnit XML, which every CI server shows: a suite per API, a case per call and direction.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "report/report_data.h"

namespace msprobe::report {

// `fail_on`: "error", "warning" or "strict", as the option of that name; what it counts as failed
// is a failure. A lost call is an error, any other SKIP is skipped.
std::string junit_text(std::span<const ReportRun> runs, std::string_view fail_on);
Result<void> write_junit(const std::filesystem::path& path, std::span<const ReportRun> runs,
                         std::string_view fail_on);

// Text inside XML; what a person could not see, and XML mostly forbids, is escaped.
std::string xml_text(std::string_view text);

}  // namespace msprobe::report
