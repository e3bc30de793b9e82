// SPDX-License-Identifier: Apache-2.0
// Reads accuracy_checking_maps_{timestamp}.jsonl beside a check's CSVs (journal/map_lines.h).
// docs/report.md says what a line holds.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "report/report_data.h"

namespace msprobe::report {

// The map file that belongs to a details CSV by its name; it need not exist.
std::filesystem::path map_path(const std::filesystem::path& details_csv);

// The row a line is about; nothing if the line does not hold together.
std::optional<std::string> row_of_map_line(std::string_view line);

// Gives the rows of a run their maps. Lines that do not hold together, or are about no row of this
// run, are counted and left out. An error: the file cannot be read.
Result<std::size_t> read_error_maps(ReportRun& run, const std::filesystem::path& path);

}  // namespace msprobe::report
