// The finished shards of one check -> the CSV pair that one machine would have written.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "check/coverage.h"
#include "check/csv_pair.h"
#include "core/result.h"

namespace msprobe::check {

struct MergeOptions {
  std::vector<std::filesystem::path> directories;  // each holds the files of one shard or more
  std::filesystem::path out_directory;
  std::function<std::string()> timestamp;
};

struct MergeOutcome {
  Coverage coverage;
  CsvPaths paths;
  std::size_t shards = 0;
};

// An error names what is missing, unfinished, twice there, or of another check.
Result<MergeOutcome> merge_shards(const MergeOptions& options);

}  // namespace msprobe::check
