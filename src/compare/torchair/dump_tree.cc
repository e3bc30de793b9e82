// SPDX-License-Identifier: Apache-2.0
#include "torchair/dump_tree.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/look_up.h"
#include "ge/file_name.h"
#include "torchair/digits.h"
#include "torchair/walk.h"

namespace msprobe::torchair {
namespace {

constexpr std::string_view kGraphPrefix = "dynamo_original_graph_";

// Takes `prefix` and the digits behind it off `text`.
std::optional<std::int64_t> take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  const std::string_view rest = text.substr(prefix.size());
  const std::size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::optional<std::int64_t> value = number_of(rest.substr(0, end));
  if (value) text = rest.substr(end);
  return value;
}

struct RankName {
  std::int64_t world_size;
  std::int64_t rank;
  std::string_view word;
};
std::optional<RankName> parse_rank(std::string_view name) {
  const auto world_size = take_number(name, "worldsize");
  if (!world_size) return std::nullopt;
  for (const std::string_view word : {"_global_rank", "_rank"}) {
    const auto rank = take_number(name, word);
    if (rank && name.empty()) return RankName{*world_size, *rank, word};
  }
  return std::nullopt;
}

std::optional<GraphFile> parse_graph_name(const fs::path& path) {
  const std::string name = path.filename().string();
  std::string_view rest = name;
  if (!rest.ends_with(".txt")) return std::nullopt;
  rest.remove_suffix(4);
  const auto graph = take_number(rest, kGraphPrefix);
  if (!graph) return std::nullopt;
  GraphFile file{path, *graph, take_number(rest, "_rank_").value_or(0), {}};
  take_number(rest, "_pid_");
  if (rest.starts_with("_ts_")) file.time = rest.substr(4);
  return file;
}

bool is_ge_file(const std::string& name) {
  return ge::is_hashed_name(name) || ge::parse_file_name(name).has_value();
}

bool is_array(const std::string& name) { return name.ends_with(".npy"); }

std::vector<std::string> components(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path) parts.push_back(part.string());
  return parts;
}

void take_rank(GeUnit& unit, const std::string& name) {
  const auto rank = parse_rank(name);
  if (!rank) return;
  unit.world_size = rank->world_size;
  unit.rank = rank->rank;
  unit.rank_name = rank->word;
}

// <device>/[<model>/][<model id>/][<token>], from the component `at` on.
void take_levels(GeUnit& unit, const std::vector<std::string>& parts, std::size_t at) {
  if (at < parts.size()) unit.device = number_of(parts[at++]).value_or(0);
  if (at < parts.size() && !all_digits(parts[at])) unit.model = parts[at++];
  if (at + 1 < parts.size()) unit.model_id = number_of(parts[at++]).value_or(0);
  if (at < parts.size()) unit.token = number_of(parts[at]).value_or(0);
}

// .../[<rank>/]<time>/<device>/...
std::optional<GeUnit> parse_ge_directory(const fs::path& directory) {
  const std::vector<std::string> parts = components(directory);
  const auto is_time = [](const std::string& part) {
    return part.size() == 14 && all_digits(part);
  };
  const auto last_time = std::find_if(parts.rbegin(), parts.rend(), is_time);
  if (last_time == parts.rend()) return std::nullopt;
  const auto place = static_cast<std::size_t>(parts.rend() - last_time) - 1;
  GeUnit unit{};
  unit.directory = directory;
  unit.dump_time = parts[place];
  for (std::size_t i = 0; i < place; ++i) unit.dump /= parts[i];
  if (place > 0) take_rank(unit, parts[place - 1]);
  take_levels(unit, parts, place + 1);
  return unit;
}

// A dump moved out of its directory of the dump time: .../<root or rank>/<device>/...
GeUnit parse_moved_directory(const fs::path& directory, const fs::path& root) {
  const std::vector<std::string> parts = components(directory);
  GeUnit unit{};
  unit.directory = directory;
  unit.dump = root;
  std::size_t at = components(root).size();
  const auto rank = std::ranges::find_if(
      parts, [](const std::string& part) { return parse_rank(part).has_value(); });
  if (rank != parts.end()) {
    take_rank(unit, *rank);
    at = static_cast<std::size_t>(rank - parts.begin()) + 1;
    unit.dump.clear();
    for (std::size_t i = 0; i < at; ++i) unit.dump /= parts[i];
  }
  take_levels(unit, parts, at);
  return unit;
}

// The k of "graph_<k>..." anywhere in a model name.
std::optional<std::int64_t> graph_of(std::string_view model) {
  const std::size_t at = model.find("graph_");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = model.substr(at);
  return take_number(rest, "graph_");
}

// Ranks by device, in order, where no directory names them.
void name_ranks(GeTree& tree) {
  std::set<std::int64_t> devices;
  std::set<std::int64_t> ranks;
  for (const GeUnit& unit : tree.units) {
    if (unit.rank_name.empty()) devices.insert(unit.device);
  }
  for (const GraphFile& graph : tree.graphs) ranks.insert(graph.rank);
  std::map<std::int64_t, std::int64_t> rank_of;
  auto rank = ranks.begin();
  std::int64_t next = 0;
  for (const std::int64_t device : devices) {
    if (rank != ranks.end()) next = *rank++;
    rank_of[device] = next++;
  }
  for (GeUnit& unit : tree.units) {
    if (unit.rank_name.empty()) unit.rank = rank_of[unit.device];
  }
}

// Graph ids by name; where a model has no such name, by order.
void name_graphs(GeTree& tree) {
  std::map<std::int64_t, std::vector<std::int64_t>> ids;  // of each rank, ascending
  for (const GraphFile& file : tree.graphs) {
    auto& of_rank = ids[file.rank];
    if (of_rank.empty() || of_rank.back() != file.graph) of_rank.push_back(file.graph);
  }
  using Model = std::tuple<std::int64_t, std::int64_t, std::string>;  // rank, id, name
  std::set<Model> unnamed;
  for (const GeUnit& unit : tree.units) {
    if (!graph_of(unit.model)) unnamed.emplace(unit.rank, unit.model_id, unit.model);
  }
  std::map<Model, std::int64_t> by_order;
  std::map<std::int64_t, std::size_t> used;
  for (const Model& model : unnamed) {
    const auto& of_rank = ids[std::get<0>(model)];
    const std::size_t place = used[std::get<0>(model)]++;
    by_order[model] = place < of_rank.size() ? of_rank[place] : std::get<1>(model);
  }
  for (GeUnit& unit : tree.units) {
    const auto named = graph_of(unit.model);
    unit.graph = named ? *named : by_order[{unit.rank, unit.model_id, unit.model}];
  }
}

// Keeps only the newest of several dump times of one (rank, graph, token): two dumps
// in one root are never merged.
void leave_out_older_dumps(GeTree& tree) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  const auto key = [](const GeUnit& u) { return Key{u.rank, u.device, u.graph, u.token}; };
  std::map<Key, std::string> newest;
  for (const GeUnit& unit : tree.units) {
    std::string& time = newest[key(unit)];
    time = std::max(time, unit.dump_time);
  }
  std::set<std::pair<std::int64_t, std::string>> older;
  for (const GeUnit& unit : tree.units) {
    if (newest[key(unit)] != unit.dump_time) older.emplace(unit.rank, unit.dump_time);
  }
  for (const auto& [rank, time] : older) {
    tree.notes.push_back(fmt::format(
        "two dumps in one directory: that of {} (rank {}) is left out, the newest is compared",
        time, rank));
  }
  std::erase_if(tree.units,
                [&](const GeUnit& unit) { return older.contains({unit.rank, unit.dump_time}); });
}

// A rank under several world sizes: the largest is kept.
void leave_out_world_sizes(GeTree& tree) {
  std::map<std::int64_t, std::int64_t> largest;
  for (const GeUnit& unit : tree.units) {
    if (unit.world_size) largest[unit.rank] = std::max(largest[unit.rank], *unit.world_size);
  }
  const auto is_other = [&](const GeUnit& unit) {
    return unit.world_size && *unit.world_size != largest[unit.rank];
  };
  if (std::ranges::any_of(tree.units, is_other)) {
    tree.notes.push_back("ranks of several world sizes in one directory: the largest is compared");
  }
  std::erase_if(tree.units, is_other);
}

Failure two_dumps(const fs::path& root, const fs::path& one, const fs::path& other) {
  return fail(
      ErrorKind::kUsage,
      fmt::format("{}: two dumps are in this directory, and nothing says which one is meant: "
                  "{} and {}. Name the directory of one of them",
                  root.string(), one.string(), other.string()));
}

// Two units of which only one can be meant.
template <class Unit, class Key>
std::optional<Failure> find_two_dumps(const fs::path& root, const std::vector<Unit>& units,
                                      const Key& key_of) {
  std::map<std::decay_t<decltype(key_of(units[0]))>, fs::path> first;
  for (const Unit& unit : units) {
    if (unit.rank_name != units[0].rank_name) {
      return two_dumps(root, units[0].directory, unit.directory);
    }
    const auto [seen, is_new] = first.try_emplace(key_of(unit), unit.directory);
    if (!is_new) return two_dumps(root, seen->second, unit.directory);
  }
  return std::nullopt;
}

std::optional<Failure> find_two_dumps(const fs::path& root, const GeTree& tree) {
  std::map<std::int64_t, const GeUnit*> first;  // of each rank
  for (const GeUnit& unit : tree.units) {
    const GeUnit* const seen = first.try_emplace(unit.rank, &unit).first->second;
    if (seen->dump != unit.dump) return two_dumps(root, seen->directory, unit.directory);
  }
  return find_two_dumps(root, tree.units, [](const GeUnit& unit) {
    return std::tuple(unit.rank, unit.dump_time, unit.device, unit.model, unit.model_id,
                      unit.token);
  });
}

void keep_newest_graphs(GeTree& tree) {
  std::ranges::sort(tree.graphs, [](const GraphFile& a, const GraphFile& b) {
    return std::tuple(a.rank, a.graph, a.time.size(), a.time) <
           std::tuple(b.rank, b.graph, b.time.size(), b.time);
  });
  std::vector<GraphFile> kept;
  for (GraphFile& graph : tree.graphs) {
    if (!kept.empty() && kept.back().rank == graph.rank && kept.back().graph == graph.graph) {
      tree.notes.push_back(fmt::format("graph {} of rank {} was compiled again: {} is left out",
                                       graph.graph, graph.rank,
                                       kept.back().path.filename().string()));
      kept.back() = std::move(graph);
    } else {
      kept.push_back(std::move(graph));
    }
  }
  tree.graphs = std::move(kept);
}

// A root that is one of the inner directories has the graph text beside or above it.
void find_graphs_above(const fs::path& root, GeTree& tree) {
  constexpr int kLevels = 6;
  fs::path directory = root;
  for (int i = 0; i < kLevels && tree.graphs.empty() && directory.has_relative_path(); ++i) {
    directory = directory.parent_path();
    const auto entries = list_directory(directory);  // not part of the dump
    for (const fs::directory_entry& entry : entries.value_or(DirectoryEntries())) {
      if (const auto graph = parse_graph_name(entry.path())) tree.graphs.push_back(*graph);
    }
  }
}

// .../<rank>/<graph>/<token>, or .../[<token>/]gm_<time>_dump
FxUnit parse_fx_directory(const fs::path& directory) {
  const std::vector<std::string> parts = components(directory);
  FxUnit unit;
  unit.directory = directory;
  std::size_t at = parts.size();
  const auto is_token = [](const std::string& part) {
    return part.size() < 12 && all_digits(part);
  };
  if (parts[at - 1].starts_with("gm_") && parts[at - 1].ends_with("_dump")) {
    unit.group = parts[--at];
    if (at > 0 && is_token(parts[at - 1])) {
      unit.older = true;
      unit.token = *number_of(parts[at - 1]);
    }
    return unit;
  }
  if (is_token(parts[at - 1])) unit.token = *number_of(parts[--at]);
  unit.older = at > 0 && parts[at - 1] == "data_dump";
  if (at > 0) unit.graph = graph_of(parts[at - 1]);
  for (; at > 0; --at) {
    if (const auto rank = parse_rank(parts[at - 1])) {
      unit.rank = rank->rank;
      unit.rank_name = rank->word;
      unit.world_size = rank->world_size;
      break;
    }
  }
  return unit;
}

fs::path part_named(const fs::path& root, std::string_view name) {
  std::error_code error;
  const fs::path part = root / name;
  return fs::is_directory(part, error) ? part : root;
}

}  // namespace

TreeKind kind_of(const fs::path& root) {
  bool arrays = false;
  bool graphs = false;
  bool dumps = false;
  const Walk walk(root, [&](const fs::path& directory, const std::vector<std::string>& files) {
    for (const std::string& name : files) {
      arrays = arrays || is_array(name);
      graphs = graphs || parse_graph_name(name).has_value();
      dumps = dumps || (is_ge_file(name) && parse_ge_directory(directory));
    }
  });
  if (graphs) return TreeKind::kGe;
  if (arrays) return TreeKind::kFx;
  return dumps ? TreeKind::kGe : TreeKind::kNeither;
}

Result<GeTree> find_ge(const fs::path& root) {
  GeTree tree;
  std::vector<fs::path> directories;  // with files of operators
  const Walk walk(root, [&](const fs::path& directory, const std::vector<std::string>& files) {
    for (const std::string& name : files) {
      if (const auto graph = parse_graph_name(directory / name)) tree.graphs.push_back(*graph);
    }
    if (std::ranges::any_of(files, is_ge_file)) directories.push_back(directory);
  });
  tree.unread = walk.unread();
  for (const fs::path& directory : directories) {
    if (const auto unit = parse_ge_directory(directory)) tree.units.push_back(*unit);
  }
  if (tree.units.empty()) {
    for (const fs::path& directory : directories) {
      tree.units.push_back(parse_moved_directory(directory, root));
    }
  }
  if (tree.units.empty()) {
    if (!tree.unread.empty()) return fail(ErrorKind::kIo, tree.unread.front());
    return fail(
        ErrorKind::kUsage,
        fmt::format("{}: Cannot get ge dump data, because the gathered_files_list is empty. No "
                    "file of an operator is in it: name the directory that a GE dump was written "
                    "to, e.g. msprobe_ge_dump",
                    root.string()));
  }
  if (tree.graphs.empty()) find_graphs_above(root, tree);
  keep_newest_graphs(tree);
  name_ranks(tree);
  name_graphs(tree);
  leave_out_world_sizes(tree);
  if (auto two = find_two_dumps(root, tree)) return *two;
  leave_out_older_dumps(tree);
  std::ranges::sort(tree.units, [](const GeUnit& a, const GeUnit& b) {
    return std::tie(a.rank, a.graph, a.token, a.model_id, a.directory) <
           std::tie(b.rank, b.graph, b.token, b.model_id, b.directory);
  });
  return tree;
}

Result<FxTree> find_fx(const fs::path& root) {
  FxTree tree;
  const Walk walk(root, [&](const fs::path& directory, const std::vector<std::string>& files) {
    if (!std::ranges::any_of(files, is_array)) return;
    FxUnit unit = parse_fx_directory(directory);
    // A number above the root is a directory of the user, not a token.
    const bool token_is_inside = directory.parent_path() != root && directory != root;
    if (unit.older && !unit.group.empty() && !token_is_inside &&
        root.parent_path().filename() != "data_dump") {
      unit.older = false;
      unit.token = 0;
    }
    tree.units.push_back(std::move(unit));
  });
  tree.unread = walk.unread();
  if (tree.units.empty()) {
    if (!tree.unread.empty()) return fail(ErrorKind::kIo, tree.unread.front());
    return fail(
        ErrorKind::kUsage,
        fmt::format("{}: Cannot get fx dump data, because the gathered_files_list is empty. No "
                    ".npy file is in it: name the directory that an FX dump was written to, e.g. "
                    "msprobe_fx_dump or data_dump",
                    root.string()));
  }
  const auto two = find_two_dumps(root, tree.units, [](const FxUnit& unit) {
    return std::tuple(unit.rank, unit.graph, unit.group, unit.token);
  });
  if (two) return *two;
  return tree;
}

fs::path ge_part(const fs::path& root) { return part_named(root, "msprobe_ge_dump"); }

fs::path fx_part(const fs::path& root) { return part_named(root, "msprobe_fx_dump"); }

}  // namespace msprobe::torchair
