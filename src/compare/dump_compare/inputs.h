// SPDX-License-Identifier: Apache-2.0
// Finds the dumps that -tp and -gp name: two files, or directories of ranks and steps, paired by
// number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace msprobe::dump_compare {

struct DumpPair {
  std::filesystem::path target;  // dump.json
  std::filesystem::path golden;
  std::string suffix;  // of the tables' names: "", "_rank0", "_step1_rank0"
  std::string shown;   // in messages: "step 1, rank 0"; empty for two files
  std::int64_t step = 0;
  std::int64_t rank = 0;
};

struct DumpPairs {
  std::vector<DumpPair> pairs;
  std::vector<std::string> left_out;  // what has no counterpart, and why
};

// Whether a directory holds a dump.json where find_dumps looks for one.
bool has_dumps(const std::filesystem::path& directory);

// REQUIRES: both paths exist. An error if one is a file and the other a directory, or if there is
// nothing to compare.
Result<DumpPairs> find_dumps(const std::filesystem::path& target,
                             const std::filesystem::path& golden);

}  // namespace msprobe::dump_compare
