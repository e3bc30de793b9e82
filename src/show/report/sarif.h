// SPDX-License-Identifier: Apache-2.0
// Runs -> SARIF 2.1.0: the calls that are wrong, do not run, were lost or prove little, at the line
// of the user's program that made them, as editors and code hosts show it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/fail_on.h"
#include "core/result.h"
#include "report/report_data.h"

namespace msprobe::report {

// The documented thresholds are named where there is no strict status, and if `fail_on` asks for
// them.
std::string sarif_text(std::span<const ReportRun> runs, FailOn fail_on, std::string_view version);
Result<void> write_sarif(const std::filesystem::path& path, std::span<const ReportRun> runs,
                         FailOn fail_on, std::string_view version);

// A path as a URI reference: bytes not allowed in one are escaped.
std::string uri_of(std::string_view path);

}  // namespace msprobe::report
