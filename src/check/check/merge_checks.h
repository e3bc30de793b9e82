// SPDX-License-Identifier: Apache-2.0
// The finished shards of one check -> the CSV pair and the coverage of the whole.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "check/coverage.h"
#include "core/result.h"
#include "journal/csv_pair.h"

namespace msprobe::check {

struct MergeOptions {
  std::vector<std::filesystem::path> directories;  // each holds the files of one shard or more
  std::filesystem::path out_directory;
  std::function<std::string()> timestamp;
};

struct MergeOutcome {
  Coverage coverage;
  journal::CsvPaths paths;
  std::size_t shards = 0;
};

// An error names what is missing, unfinished, twice there, or of another check.
Result<MergeOutcome> merge_checks(const MergeOptions& options);

}  // namespace msprobe::check
