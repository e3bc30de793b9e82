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

std::vector<fs::path> directories_in(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

// Of a file of this name in the directories of a tree.
void add_ranks(const fs::path& directory, std::int64_t step, std::string_view file,
               StepTree& tree) {
  const auto add = [&](std::int64_t rank, const fs::path& place) {
    tree.emplace(DumpPlace{step, rank}, PlacedDump{place / file, directory});
  };
  const auto has_dump = [file](const fs::path& place) {
    std::error_code ignored;
    return fs::exists(place / file, ignored);
  };
  if (has_dump(directory)) return add(-1, directory);
  std::vector<fs::path> processes;
  bool has_ranks = false;
  for (const fs::path& below : directories_in(directory)) {
    const std::string name = below.filename().string();
    if (const auto rank = number_after(name, "rank"); rank && has_dump(below)) {
      add(*rank, below);
      has_ranks = true;
    } else if (number_after(name, "proc") && has_dump(below)) {
      processes.push_back(below);
    }
  }
  if (!has_ranks && processes.size() == 1) add(-1, processes.front());
}

StepTree tree_of(const fs::path& directory, std::string_view file) {
  StepTree tree;
  for (const fs::path& below : directories_in(directory)) {
    const auto step = number_after(below.filename().string(), "step");
    if (step) add_ranks(below, *step, file, tree);
  }
  if (tree.empty()) add_ranks(directory, -1, file, tree);
  return tree;
}

}  // namespace

Result<StepTree> find_dumps(const fs::path& directory, bool or_values) {
  StepTree tree = tree_of(directory, kDumpFile);
  if (tree.empty() && or_values) tree = tree_of(directory, kValuesFile);
  if (!tree.empty()) return tree;
  return fail(ErrorKind::kUsage,
              fmt::format("{}: found neither dump.json nor directories rank<N> or step<N> with "
                          "one; name the dump_path of a recording, or a dump.json",
                          directory.string()));
}

}  // namespace msprobe::dump
