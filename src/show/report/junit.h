// SPDX-License-Identifier: Apache-2.0
// Runs -> JUnit XML, which every CI server shows: a suite per API, a case per call and direction.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/fail_on.h"
#include "core/result.h"
#include "report/report_data.h"

namespace msprobe::report {

// What `fail_on` counts as failed, and what does not run on the device, is a failure. A lost call
// is an error. Any other SKIP, and a pass that proves little, is skipped.
std::string junit_text(std::span<const ReportRun> runs, FailOn fail_on);
Result<void> write_junit(const std::filesystem::path& path, std::span<const ReportRun> runs,
                         FailOn fail_on);

// Text inside XML; what a person could not see, and XML mostly forbids, is escaped.
std::string xml_text(std::string_view text);

}  // namespace msprobe::report
