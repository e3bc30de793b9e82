// SPDX-License-Identifier: Apache-2.0
// Runs -> SARIF 2.1.0: every call that does not pass, at the line of the user's program that made
// it, as editors and code hosts show it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "report/report_data.h"

namespace msprobe::report {

std::string sarif_text(std::span<const ReportRun> runs, std::string_view version);
Result<void> write_sarif(const std::filesystem::path& path, std::span<const ReportRun> runs,
                         std::string_view version);

// A path as a URI reference: bytes not allowed in one are escaped.
std::string uri_of(std::string_view path);

}  // namespace msprobe::report
