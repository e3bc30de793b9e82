// SPDX-License-Identifier: Apache-2.0
// The finished shards of one check -> the CSV pair that one machine would have written.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "documented/detail_row.h"
#include "journal/csv_pair.h"
#include "journal/journal.h"
#include "journal/run_file.h"

namespace msprobe::journal {

struct ShardsToMerge {
  std::vector<std::filesystem::path> directories;  // each holds the files of one shard or more
  std::filesystem::path out_directory;
  std::function<std::string()> timestamp;
  std::function<CsvPairFormat(const RunFile&)> format_of;  // how the files of a run are written
  std::function<void(const documented::ResultRow&)> show;  // gets every row, in order
};

struct MergedShards {
  CsvPaths paths;
  RunFacts facts;  // those of the first shard
  std::size_t shards = 0;
};

// An error names what is missing, unfinished, twice there, or of another check.
Result<MergedShards> merge_shards(const ShardsToMerge& shards);

}  // namespace msprobe::journal
