// SPDX-License-Identifier: Apache-2.0
#include "torchair/unit_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "torchair/walk.h"

namespace msprobe::torchair {
namespace {

using RankGraph = std::pair<std::int64_t, std::int64_t>;

// The golden side of an FX comparison may be given one level too high, beside the GE dump.
fs::path bench_part(const UnitPlanOptions& options) {
  return is_inside(options.device_root, options.bench_root) ? fx_part(options.bench_root)
                                                            : options.bench_root;
}

std::optional<fs::path> graph_file_of(const GeTree& tree, std::int64_t rank, std::int64_t graph) {
  const GraphFile* found = nullptr;
  for (const GraphFile& file : tree.graphs) {
    if (file.graph != graph) continue;
    if (file.rank == rank) return file.path;
    if (found == nullptr) found = &file;
  }
  // Every rank runs the same graph where only one of them wrote it.
  return found == nullptr ? std::nullopt : std::optional(found->path);
}

void note_tokens(UnitPlan& plan, const RankGraph& where, const std::set<std::int64_t>& device,
                 const std::set<std::int64_t>& bench) {
  const auto add = [](std::vector<std::int64_t>& list, std::int64_t token) {
    if (std::ranges::find(list, token) == list.end()) list.push_back(token);
  };
  for (const std::int64_t token : device) {
    if (bench.contains(token)) continue;
    add(plan.device_tokens_left_out, token);
    plan.left_out.push_back(
        fmt::format("My token_id {} not found in golden dump data (rank {}, graph {})", token,
                    where.first, where.second));
  }
  for (const std::int64_t token : bench) {
    if (device.contains(token)) continue;
    add(plan.bench_tokens_left_out, token);
    plan.left_out.push_back(
        fmt::format("golden token_id {} not found in the target dump data (rank {}, graph {})",
                    token, where.first, where.second));
  }
}

// Pairs the tokens of every (rank, graph) both sides have.
void pair_units(UnitPlan& plan, const GeTree& device,
                const std::map<RankGraph, TokenDirectories>& bench) {
  std::map<RankGraph, std::vector<const GeUnit*>> groups;
  for (const GeUnit& unit : device.units) groups[{unit.rank, unit.graph}].push_back(&unit);
  for (const auto& [where, units] : groups) {
    const auto found = bench.find(where);
    if (found == bench.end()) {
      plan.left_out.push_back(fmt::format("rank {}, graph {} is not in the golden dump data",
                                          where.first, where.second));
      continue;
    }
    std::set<std::int64_t> device_tokens;
    std::set<std::int64_t> bench_tokens;
    for (const auto& [token, directory] : found->second) bench_tokens.insert(token);
    for (const GeUnit* unit : units) {
      device_tokens.insert(unit->token);
      const auto directory = found->second.find(unit->token);
      if (directory == found->second.end()) continue;
      plan.pairs.push_back({where.first, where.second, unit->token,
                            graph_file_of(device, where.first, where.second), unit->directory,
                            directory->second});
    }
    note_tokens(plan, where, device_tokens, bench_tokens);
  }
  for (const auto& [where, tokens] : bench) {
    if (!groups.contains(where)) {
      plan.left_out.push_back(fmt::format("golden rank {}, graph {} is not in the target dump data",
                                          where.first, where.second));
    }
  }
}

// A GE dump is compared with an FX dump, never the other way round.
Failure swapped(const UnitPlanOptions& options) {
  const bool other_way = kind_of(options.bench_root) == TreeKind::kGe;
  return fail(
      ErrorKind::kUsage,
      fmt::format("{} is an FX dump (.npy files); --target_path takes the GE dump, "
                  "--golden_path the FX dump{}",
                  options.device_root.string(),
                  other_way ? fmt::format(": swap the two paths: --target_path {} "
                                          "--golden_path {}",
                                          options.bench_root.string(), options.device_root.string())
                            : ""));
}

// Leaves the rank that --rank names.
std::optional<Failure> keep_rank(GeTree& device, const UnitPlanOptions& options) {
  std::set<std::int64_t> ranks;
  bool has_names = false;  // of ranks, in a directory
  for (const GeUnit& unit : device.units) {
    ranks.insert(unit.rank);
    has_names = has_names || !unit.rank_name.empty();
  }
  if (!has_names && !ranks.contains(*options.rank)) {
    device.notes.push_back(
        fmt::format("--rank {} has no effect: no directory names a rank, so everything is compared",
                    *options.rank));
    return std::nullopt;
  }
  std::erase_if(device.units, [&](const GeUnit& unit) { return unit.rank != *options.rank; });
  if (!device.units.empty()) return std::nullopt;
  return fail(ErrorKind::kUsage,
              fmt::format("{}: there is no rank {} (--rank); the ranks here: {}",
                          options.device_root.string(), *options.rank, fmt::join(ranks, ", ")));
}

}  // namespace

Result<UnitPlan> make_plan(const UnitPlanOptions& options, DumpFiles& files) {
  UnitPlan plan;
  plan.device_root = ge_part(options.device_root);
  Result<GeTree> device = find_ge(plan.device_root);
  if (!device && kind_of(options.device_root) == TreeKind::kFx) return swapped(options);
  if (!device) return propagate(device);
  if (device->graphs.empty()) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("{}: Can not get ge graph, Please check whether the input path contains "
                    "graph. dynamo_original_graph_*.txt is missing: name the directory that holds "
                    "it, msprobe_ge_dump",
                    options.device_root.string()));
  }
  if (options.rank) {
    if (auto missing = keep_rank(*device, options)) return *missing;
  }
  plan.notes = device->notes;
  const auto add_unread = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) files.note_unread(text);
  };
  add_unread(device->unread);
  plan.bench_root = bench_part(options);
  // If the reference root contains the target dump, the GE files found there are the target's.
  const bool is_above = is_inside(plan.device_root, plan.bench_root);
  const TreeKind kind = is_above ? TreeKind::kFx : kind_of(plan.bench_root);
  plan.bench_is_fx = kind == TreeKind::kFx;
  std::map<RankGraph, TokenDirectories> bench;
  if (kind == TreeKind::kGe) {
    plan.bench_root = ge_part(plan.bench_root);
    Result<GeTree> tree = find_ge(plan.bench_root);
    if (!tree) return propagate(tree);
    for (const std::string& note : tree->notes) plan.notes.push_back("golden: " + note);
    add_unread(tree->unread);
    bench = ge_groups(*device, *tree);
  } else {
    const Result<FxTree> tree = find_fx(plan.bench_root);
    if (!tree) return propagate(tree);
    add_unread(tree->unread);
    bench =
        fx_groups(*device, *tree, options.fx_token_offset, plan.fx_token_offset, plan.notes, files);
  }
  pair_units(plan, *device, bench);
  if (plan.pairs.empty()) {
    std::string reasons;
    for (const std::string& reason : plan.left_out) reasons += "; " + reason;
    return fail(ErrorKind::kUsage,
                fmt::format("No common rank data in golden_path and my_path{}", reasons));
  }
  return plan;
}

}  // namespace msprobe::torchair
