// SPDX-License-Identifier: Apache-2.0
// Where the dumps are below a directory: step and rank of each, by the names of directories.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

#include "core/result.h"

namespace msprobe::dump {

// -1: the path does not say.
struct DumpPlace {
  std::int64_t step = -1;
  std::int64_t rank = -1;
  auto operator<=>(const DumpPlace&) const = default;
};

struct PlacedDump {
  std::filesystem::path dump;       // dump.json, or debug.json
  std::filesystem::path directory;  // of its step
};
using StepTree = std::map<DumpPlace, PlacedDump>;

// A directory with dump.json; one of a step, with rank<N> (`rank` alone is rank 0) or a single
// proc<pid>, which has no rank; or one of several step<N>. An error says what is missing.
//
// `or_values`: where there is no dump.json, the debug.json of level debug is taken.
Result<StepTree> find_dumps(const std::filesystem::path& directory, bool or_values = false);

}  // namespace msprobe::dump
