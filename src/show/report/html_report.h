// SPDX-License-Identifier: Apache-2.0
// Runs -> one HTML file that shows them, with no other file and no network.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "core/result.h"
#include "report/report_data.h"

namespace msprobe::report {

// `version`: of the program, shown in the foot.
Result<void> write_html_report(const std::filesystem::path& path, std::span<const ReportRun> runs,
                               std::string_view version);

}  // namespace msprobe::report
