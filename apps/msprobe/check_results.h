// SPDX-License-Identifier: Apache-2.0
// The results of earlier checks behind what a user names: a CSV, or the directory that was -o.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "dump_input.h"

namespace msprobe::app {

// The directory that was -o of an interrupted check of `dumps`. `given` is that directory, or the
// result CSV of one of the dumps in it.
Result<std::filesystem::path> resumed_directory(const std::string& given,
                                                std::span<const InputDump> dumps);

// The result CSV in `directory` with the latest time in its name; empty if there is none,
// or no such directory.
Result<std::string> latest_result(const std::filesystem::path& directory);

struct NamedResult {
  std::filesystem::path csv;
  std::string place;  // "step1/rank0" in a check of several dumps, else empty
};

// For report and diff: a CSV; the latest result CSV of a directory; or, of the -o directory of a
// check of several dumps, those of its steps and ranks in their order. At least one.
Result<std::vector<NamedResult>> results_to_show(const std::string& given);

// For api_precision_compare: a details CSV, or the -o directory of a check of one dump, of which
// the latest counts.
Result<std::filesystem::path> details_to_compare(const std::string& given);

}  // namespace msprobe::app
