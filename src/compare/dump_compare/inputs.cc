// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/inputs.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dump/step_tree.h"

namespace msprobe::dump_compare {
namespace {

namespace fs = std::filesystem;

using dump::StepTree;
using Place = dump::DumpPlace;

std::string shown(const Place& place) {
  std::string text = place.step >= 0 ? fmt::format("step {}", place.step) : "";
  if (place.rank >= 0) text += fmt::format("{}rank {}", text.empty() ? "" : ", ", place.rank);
  return text.empty() ? "dump.json" : text;
}

std::string suffix_of(const Place& place) {
  std::string text = place.step >= 0 ? fmt::format("_step{}", place.step) : "";
  if (place.rank >= 0) text += fmt::format("_rank{}", place.rank);
  return text;
}

// A directory of one unnumbered dump fits one of a single rank or step.
void align_single(StepTree& target, StepTree& golden) {
  if (target.size() != 1 || golden.size() != 1) return;
  const Place of_target = target.begin()->first;
  const Place of_golden = golden.begin()->first;
  const bool fits =
      (of_target.step == of_golden.step || of_target.step < 0 || of_golden.step < 0) &&
      (of_target.rank == of_golden.rank || of_target.rank < 0 || of_golden.rank < 0);
  if (!fits || of_target == of_golden) return;
  dump::PlacedDump moved = golden.begin()->second;
  golden.clear();
  golden.emplace(of_target, std::move(moved));
}

Result<DumpPairs> pair_directories(const fs::path& target, const fs::path& golden) {
  Result<StepTree> of_target = dump::find_dumps(target, true);
  if (!of_target) return propagate(of_target);
  Result<StepTree> of_golden = dump::find_dumps(golden, true);
  if (!of_golden) return propagate(of_golden);
  align_single(*of_target, *of_golden);
  DumpPairs found;
  for (const auto& [place, found_dump] : *of_target) {
    const auto other = of_golden->find(place);
    if (other == of_golden->end()) {
      found.left_out.push_back(fmt::format("{}: {} has no counterpart in {}", target.string(),
                                           shown(place), golden.string()));
      continue;
    }
    DumpPair pair{found_dump.dump,
                  other->second.dump,
                  suffix_of(place),
                  shown(place),
                  std::max<std::int64_t>(place.step, 0),
                  std::max<std::int64_t>(place.rank, 0)};
    found.pairs.push_back(std::move(pair));
  }
  for (const auto& [place, found_dump] : *of_golden) {
    if (of_target->contains(place)) continue;
    found.left_out.push_back(fmt::format("{}: {} has no counterpart in {}", golden.string(),
                                         shown(place), target.string()));
  }
  if (found.pairs.empty()) {
    return fail(ErrorKind::kUsage, fmt::format("no step and rank is in both directories: {}",
                                               fmt::join(found.left_out, "; ")));
  }
  return found;
}

}  // namespace

bool has_dumps(const fs::path& directory) { return dump::find_dumps(directory, true).has_value(); }

Result<DumpPairs> find_dumps(const fs::path& target, const fs::path& golden) {
  std::error_code ignored;
  const bool target_is_directory = fs::is_directory(target, ignored);
  const bool golden_is_directory = fs::is_directory(golden, ignored);
  if (target_is_directory != golden_is_directory) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} is a {}, {} a {}: pass two files or two directories",
                            target.string(), target_is_directory ? "directory" : "file",
                            golden.string(), golden_is_directory ? "directory" : "file"));
  }
  if (target_is_directory) return pair_directories(target, golden);
  DumpPairs found;
  found.pairs.push_back({target, golden, "", "", 0, 0});
  return found;
}

}  // namespace msprobe::dump_compare
