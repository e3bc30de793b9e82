// SPDX-License-Identifier: Apache-2.0
#include "dump/step_tree.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/look_up.h"

namespace msprobe::dump {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDumpFile = "dump.json";
constexpr std::string_view kValuesFile = "debug.json";

// The number of "rank3" after `word`; "rank" alone is the first of its kind.
std::optional<std::int64_t> number_after(std::string_view name, std::string_view word) {
  if (!name.starts_with(word)) return std::nullopt;
  name.remove_prefix(word.size());
  if (name.empty()) return 0;
  std::int32_t number = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 0) return std::nullopt;
  return number;
}

Result<std::vector<fs::path>> directories_in(const fs::path& directory) {
  const auto entries = list_directory(directory);
  if (!entries) return propagate(entries);
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : *entries) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) found.push_back(entry.path());
  }
  return found;
}

// Of a file of this name in the directories of a tree. A directory that may not be read is an
// error: its dump would be left out in silence.
Result<void> add_ranks(const fs::path& directory, std::int64_t step, std::string_view file,
                       StepTree& tree) {
  const auto add = [&](std::int64_t rank, const fs::path& place) {
    tree.emplace(DumpPlace{step, rank}, PlacedDump{place / file, directory});
  };
  const Result<bool> alone = is_there(directory / file);
  if (!alone) return propagate(alone);
  if (*alone) {
    add(-1, directory);
    return {};
  }
  const Result<std::vector<fs::path>> places = directories_in(directory);
  if (!places) return propagate(places);
  std::vector<fs::path> processes;
  bool has_ranks = false;
  for (const fs::path& below : *places) {
    const std::string name = below.filename().string();
    const auto rank = number_after(name, "rank");
    if (!rank && !number_after(name, "proc")) continue;
    const Result<bool> has_dump = is_there(below / file);
    if (!has_dump) return propagate(has_dump);
    if (!*has_dump) continue;
    if (rank) {
      add(*rank, below);
      has_ranks = true;
    } else {
      processes.push_back(below);
    }
  }
  if (!has_ranks && processes.size() == 1) add(-1, processes.front());
  return {};
}

Result<StepTree> tree_of(const fs::path& directory, std::string_view file) {
  const Result<std::vector<fs::path>> places = directories_in(directory);
  if (!places) return propagate(places);
  StepTree tree;
  for (const fs::path& below : *places) {
    const auto step = number_after(below.filename().string(), "step");
    if (!step) continue;
    if (const Result<void> added = add_ranks(below, *step, file, tree); !added) {
      return propagate(added);
    }
  }
  if (!tree.empty()) return tree;
  if (const Result<void> added = add_ranks(directory, -1, file, tree); !added) {
    return propagate(added);
  }
  return tree;
}

}  // namespace

Result<StepTree> find_dumps(const fs::path& directory, bool or_values) {
  Result<StepTree> tree = tree_of(directory, kDumpFile);
  if (tree && tree->empty() && or_values) tree = tree_of(directory, kValuesFile);
  if (!tree || !tree->empty()) return tree;
  return fail(ErrorKind::kUsage,
              fmt::format("{}: found neither dump.json nor directories rank<N> or step<N> with "
                          "one; name the dump_path of a recording, or a dump.json",
                          directory.string()));
}

}  // namespace msprobe::dump
