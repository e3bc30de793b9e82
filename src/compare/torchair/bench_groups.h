// SPDX-License-Identifier: Apache-2.0
// The directories of the reference side, by the rank and graph of the compared side they belong to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "torchair/dump_files.h"
#include "torchair/dump_tree.h"

namespace msprobe::torchair {

using TokenDirectories = std::map<std::int64_t, fs::path>;  // by token
using BenchGroups = std::map<std::pair<std::int64_t, std::int64_t>, TokenDirectories>;

BenchGroups ge_groups(const GeTree& device, const GeTree& bench);

// Tokens of an FX dump may be one greater than the real ones: of the older layouts they are, of the
// newest they are not, unless only the other way any (older layouts: all) tokens of both sides
// match. Two dumps in one root are never merged: the newest is taken, and `notes` says so.
BenchGroups fx_groups(const GeTree& device, const FxTree& bench,
                      std::optional<std::int64_t> wanted_offset,
                      std::optional<std::int64_t>& offset, std::vector<std::string>& notes,
                      DumpFiles& files);

}  // namespace msprobe::torchair
