// The directories of the reference side, by the rank and graph of the compared side they belong to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "torchair/tree.h"

namespace msprobe::torchair {

using TokenDirectories = std::map<std::int64_t, fs::path>;  // by token
using BenchGroups = std::map<std::pair<std::int64_t, std::int64_t>, TokenDirectories>;

BenchGroups ge_groups(const GeTree& device, const GeTree& bench);

// Tokens of an FX dump may be one greater than the real ones. The offset is the one (0 or 1) under
// which more tokens match; where that leaves it open, 1 for the older layouts and 0 for the newest.
BenchGroups fx_groups(const GeTree& device, const FxTree& bench,
                      std::optional<std::int64_t> wanted_offset,
                      std::optional<std::int64_t>& offset);

}  // namespace msprobe::torchair
