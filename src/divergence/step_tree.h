// The dumps under a path: steps and ranks, found by the names of directories.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.h"

namespace msprobe::divergence {

struct RankDump {
  int rank = 0;
  std::filesystem::path dump;  // its dump.json
};

struct StepDumps {
  std::filesystem::path directory;
  std::vector<RankDump> ranks;  // by number; at least one
};

// A dump.json; a directory with one; a step with rank<N> directories (`rank` alone and a single
// proc<pid> count as rank 0); or a directory of step<N>, in order of number. An error says what is
// missing.
Result<std::vector<StepDumps>> find_steps(const std::filesystem::path& path);

}  // namespace msprobe::divergence
