// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ge/graph_text.h"
#include "torchair/fx_files.h"
#include "torchair/unit_plan.h"

namespace msprobe::torchair {
namespace {

using RankGraph = std::pair<std::int64_t, std::int64_t>;

std::set<RankGraph> groups_of(const GeTree& tree) {
  std::set<RankGraph> groups;
  for (const GeUnit& unit : tree.units) groups.emplace(unit.rank, unit.graph);
  return groups;
}

std::set<std::int64_t> ranks_of(const GeTree& tree) {
  std::set<std::int64_t> ranks;
  for (const GeUnit& unit : tree.units) ranks.insert(unit.rank);
  return ranks;
}

// One rank on each side belongs together whatever its number: one side may have got it from the
// device.
void join_single_rank(BenchGroups& bench, const std::set<std::int64_t>& device_ranks) {
  std::set<std::int64_t> bench_ranks;
  for (const auto& [where, tokens] : bench) bench_ranks.insert(where.first);
  if (device_ranks.size() != 1 || bench_ranks.size() != 1) return;
  BenchGroups renamed;
  for (auto& [where, tokens] : bench) renamed[{*device_ranks.begin(), where.second}] = tokens;
  bench = std::move(renamed);
}

// The same for a single graph whose number is not known on the reference side.
void join_single_graph(BenchGroups& bench, const std::set<RankGraph>& device) {
  for (const RankGraph& wanted : device) {
    if (bench.contains(wanted)) continue;
    std::vector<RankGraph> of_rank;
    for (const auto& [where, tokens] : bench) {
      if (where.first == wanted.first) of_rank.push_back(where);
    }
    const auto graphs = std::ranges::count_if(
        device, [&](const RankGraph& other) { return other.first == wanted.first; });
    if (of_rank.size() != 1 || graphs != 1) continue;
    auto node = bench.extract(of_rank[0]);
    node.key() = wanted;
    bench.insert(std::move(node));
  }
}

using Tokens = std::set<std::int64_t>;

bool any_in(const Tokens& directories, std::int64_t offset, const Tokens& wanted) {
  return std::ranges::any_of(directories,
                             [&](std::int64_t token) { return wanted.contains(token - offset); });
}

std::int64_t find_offset(const GeTree& device, const FxTree& bench) {
  Tokens wanted;
  Tokens directories;
  for (const GeUnit& unit : device.units) wanted.insert(unit.token);
  for (const FxUnit& unit : bench.units) directories.insert(unit.token);
  const bool older = std::ranges::any_of(bench.units, &FxUnit::older);
  const std::int64_t usual = older ? 1 : 0;
  const std::int64_t other = 1 - usual;
  if (!any_in(directories, usual, wanted)) {
    return any_in(directories, other, wanted) ? other : usual;
  }
  // Some versions with the older directories count from the real token: then there may be one of 0,
  // or both sides have the same ones.
  if (older && (directories.contains(0) || directories == wanted)) return other;
  return usual;
}

using Keys = std::set<std::string>;  // of FX nodes

Keys keys_of_graph(const fs::path& path, DumpFiles& files) {
  Keys keys;
  if (path.empty()) return keys;
  const Result<FileBytes> file = files.load(path);
  if (!file) {
    files.note_unread(file.error().message);
    return keys;
  }
  for (const ge::GraphOp& op : ge::read_graph_text(file->text()).ops) {
    for (const std::string& name : op.fx_names) {
      if (const auto parsed = parse_fx_tensor_name(name)) keys.insert(parsed->key);
    }
  }
  return keys;
}

Keys keys_in(const TokenDirectories& tokens, DumpFiles& dump_files) {
  const FxFiles files = FxFiles::open(tokens.begin()->second, dump_files);
  const std::vector<std::string> found = files.keys();
  return {found.begin(), found.end()};
}

struct Compiled {
  std::string time;
  RankGraph where;
  fs::path text;
};

std::ptrdiff_t common_nodes(const Keys& keys, const Keys& others) {
  return std::ranges::count_if(keys, [&](const std::string& key) { return others.contains(key); });
}

// Which of `compiled` has most nodes in common with a group; the first of equals.
std::size_t most_alike(const TokenDirectories& tokens, const std::vector<Compiled>& compiled,
                       DumpFiles& files) {
  const Keys keys = keys_in(tokens, files);
  std::size_t best = 0;
  std::ptrdiff_t most = -1;
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    const std::ptrdiff_t common = common_nodes(keys, keys_of_graph(compiled[i].text, files));
    if (common > most) {
      most = common;
      best = i;
    }
  }
  return best;
}

using Unnamed = std::map<std::string, TokenDirectories>;  // by the name of the group: its time

// More groups than graphs: each graph takes the group that has most of its nodes, the newest of
// equals. What is left over is an older dump of the same graph, or no graph of the target.
void choose_newest(const std::vector<Compiled>& compiled, Unnamed unnamed, BenchGroups& groups,
                   std::vector<std::string>& notes, DumpFiles& files) {
  std::map<std::string, Keys> chosen;
  for (const Compiled& graph : compiled) {
    const Keys wanted = keys_of_graph(graph.text, files);
    auto best = unnamed.end();
    std::ptrdiff_t most = -1;
    for (auto group = unnamed.begin(); group != unnamed.end(); ++group) {
      const std::ptrdiff_t common = common_nodes(keys_in(group->second, files), wanted);
      if (common < most) continue;
      most = common;
      best = group;
    }
    if (best == unnamed.end()) return;
    chosen[best->first] = keys_in(best->second, files);
    groups[graph.where] = std::move(best->second);
    unnamed.erase(best);
  }
  for (const auto& [name, tokens] : unnamed) {
    const Keys keys = keys_in(tokens, files);
    const auto newer = std::ranges::find_if(
        chosen, [&](const auto& group) { return common_nodes(keys, group.second) > 0; });
    notes.push_back(
        newer == chosen.end()
            ? fmt::format("golden: {} belongs to no graph of the target and is left out", name)
            : fmt::format("golden: two dumps in one directory: {} is left out, the "
                          "newest, {}, is compared; use a new directory for each "
                          "dump",
                          name, newer->first));
  }
}

// The groups of the older layouts name neither rank nor graph; they were made in the order the
// graphs were compiled. Where there are not as many, their nodes tell.
void add_unnamed(const GeTree& device, const FxTree& bench, std::int64_t offset,
                 BenchGroups& groups, std::vector<std::string>& notes, DumpFiles& files) {
  Unnamed unnamed;
  for (const FxUnit& unit : bench.units) {
    if (unit.rank || unit.graph) continue;
    unnamed[unit.group][unit.older ? unit.token - offset : unit.token] = unit.directory;
  }
  const std::set<RankGraph> wanted = groups_of(device);
  std::vector<Compiled> compiled;
  for (const RankGraph& where : wanted) {
    const auto file = std::ranges::find_if(device.graphs, [&](const GraphFile& graph) {
      return RankGraph{graph.rank, graph.graph} == where;
    });
    const bool known = file != device.graphs.end();
    compiled.push_back({known ? file->time : "", where, known ? file->path : fs::path()});
  }
  std::ranges::stable_sort(compiled, {}, &Compiled::time);
  if (unnamed.size() > compiled.size()) {
    return choose_newest(compiled, std::move(unnamed), groups, notes, files);
  }
  const bool in_order = compiled.size() == unnamed.size();
  for (const auto& [name, tokens] : unnamed) {
    if (compiled.empty()) return;
    const auto which =
        static_cast<std::ptrdiff_t>(in_order ? 0 : most_alike(tokens, compiled, files));
    groups[compiled[static_cast<std::size_t>(which)].where] = tokens;
    compiled.erase(compiled.begin() + which);
  }
}

}  // namespace

BenchGroups ge_groups(const GeTree& device, const GeTree& bench) {
  BenchGroups groups;
  for (const GeUnit& unit : bench.units) {
    groups[{unit.rank, unit.graph}].try_emplace(unit.token, unit.directory);
  }
  join_single_rank(groups, ranks_of(device));
  join_single_graph(groups, groups_of(device));
  return groups;
}

BenchGroups fx_groups(const GeTree& device, const FxTree& bench,
                      std::optional<std::int64_t> wanted_offset,
                      std::optional<std::int64_t>& offset, std::vector<std::string>& notes,
                      DumpFiles& files) {
  const bool has_tokens = std::ranges::any_of(
      bench.units, [](const FxUnit& unit) { return unit.older || unit.group.empty(); });
  offset = wanted_offset ? *wanted_offset : has_tokens ? find_offset(device, bench) : 0;
  BenchGroups groups;
  for (const FxUnit& unit : bench.units) {
    if (!unit.rank && !unit.graph) continue;
    groups[{unit.rank.value_or(0), unit.graph.value_or(0)}][unit.token - *offset] = unit.directory;
  }
  join_single_rank(groups, ranks_of(device));
  join_single_graph(groups, groups_of(device));
  add_unnamed(device, bench, *offset, groups, notes, files);
  return groups;
}

}  // namespace msprobe::torchair
