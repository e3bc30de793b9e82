// SPDX-License-Identifier: Apache-2.0
// Finds the dumps under a path: ranks, graphs and tokens of every layout in use. Only names of
// directories and files are looked at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace msprobe::torchair {

namespace fs = std::filesystem;

// dynamo_original_graph_<graph>_rank_<rank>_pid_<pid>_ts_<time>.txt
struct GraphFile {
  fs::path path;
  std::int64_t graph = 0;
  std::int64_t rank = 0;
  std::string time;  // digits of equal length
};

// The files of one token of one graph of one rank.
struct GeUnit {
  fs::path directory;
  std::optional<std::int64_t> world_size;
  std::int64_t rank = 0;
  std::string rank_name;  // what names the rank, "_global_rank" or "_rank"; empty: the device does
  fs::path dump;          // holds the directories of dump times
  std::string dump_time;  // YYYYMMDDhhmmss
  std::int64_t device = 0;
  std::string model;
  std::int64_t model_id = 0;
  std::int64_t graph = 0;
  std::int64_t token = 0;
};

struct GeTree {
  std::vector<GraphFile> graphs;  // in order of rank, graph, time
  std::vector<GeUnit> units;      // in order of rank, graph, token
  std::vector<std::string> notes;
  std::vector<std::string> unread;  // directories, and why
};

struct FxUnit {
  fs::path directory;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> rank;  // nothing in the older layouts
  std::string rank_name;             // "_global_rank" or "_rank"
  std::optional<std::int64_t> graph;
  std::string group;       // "gm_<time>_dump" of the older layouts
  bool older = false;      // its token directories are one greater
  std::int64_t token = 0;  // as the directory says
};

struct FxTree {
  std::vector<FxUnit> units;
  std::vector<std::string> unread;  // directories, and why
};

enum class TreeKind : std::uint8_t { kGe, kFx, kNeither };

// FX where arrays lie under `root` and no graph text does.
TreeKind kind_of(const fs::path& root);

// Directories worldsize<W>_global_rank<N> and worldsize<W>_rank<N> are ranks. An error if two dumps
// lie under `root` and nothing says which of them is meant.
Result<GeTree> find_ge(const fs::path& root);
Result<FxTree> find_fx(const fs::path& root);

// The part of `root` that holds the dump where the path is one level too high.
fs::path ge_part(const fs::path& root);
fs::path fx_part(const fs::path& root);

}  // namespace msprobe::torchair
