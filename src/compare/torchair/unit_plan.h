// SPDX-License-Identifier: Apache-2.0
// Pairs the directories of both sides by rank, graph and token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "torchair/dump_files.h"
#include "torchair/dump_tree.h"

namespace msprobe::torchair {

struct UnitPlanOptions {
  fs::path device_root;                         // --target_path, resolved
  fs::path bench_root;                          // --golden_path, resolved
  std::optional<std::int64_t> rank;             // only this one
  std::optional<std::int64_t> fx_token_offset;  // instead of the one that is found
};

struct UnitPair {
  std::int64_t rank = 0;
  std::int64_t graph = 0;
  std::int64_t token = 0;
  std::optional<fs::path> graph_file;
  fs::path device;
  fs::path bench;
};

struct UnitPlan {
  bool bench_is_fx = false;
  fs::path device_root;  // what file names are shown relative to
  fs::path bench_root;
  std::vector<UnitPair> pairs;        // in order of rank, graph, token
  std::vector<std::string> notes;     // for the log
  std::vector<std::string> left_out;  // what only one side has, in words
  std::vector<std::int64_t> device_tokens_left_out;
  std::vector<std::int64_t> bench_tokens_left_out;
  std::optional<std::int64_t> fx_token_offset;  // that was used
};

Result<UnitPlan> make_plan(const UnitPlanOptions& options, DumpFiles& files);

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
