#include "dump_compare/inputs.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace msprobe::dump_compare {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDumpName = "dump.json";

// A dump below a directory: which step and rank it is of. -1: its path does not say.
struct Place {
  std::int64_t step = -1;
  std::int64_t rank = -1;
  auto operator<=>(const Place&) const = default;
};
using Dumps = std::map<Place, fs::path>;

// The number of "rank3" after `word`; "rank" alone is the first of its kind.
std::optional<std::int64_t> number_after(std::string_view name, std::string_view word) {
  if (!name.starts_with(word)) return std::nullopt;
  name.remove_prefix(word.size());
  if (name.empty()) return 0;
  std::int64_t number = 0;
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

bool has_dump(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(directory / kDumpName, ignored);
}

// The rank directories of a step. A single process without a rank has a directory of its own.
void add_ranks(const fs::path& directory, std::int64_t step, Dumps& dumps) {
  if (has_dump(directory)) {
    dumps.emplace(Place{step, -1}, directory / kDumpName);
    return;
  }
  std::vector<fs::path> processes;
  bool has_ranks = false;
  for (const fs::path& below : directories_in(directory)) {
    const std::string name = below.filename().string();
    if (const auto rank = number_after(name, "rank"); rank && has_dump(below)) {
      dumps.emplace(Place{step, *rank}, below / kDumpName);
      has_ranks = true;
    } else if (number_after(name, "proc") && has_dump(below)) {
      processes.push_back(below / kDumpName);
    }
  }
  if (!has_ranks && processes.size() == 1) dumps.emplace(Place{step, -1}, processes.front());
}

Result<Dumps> dumps_in(const fs::path& directory) {
  Dumps dumps;
  for (const fs::path& below : directories_in(directory)) {
    const auto step = number_after(below.filename().string(), "step");
    if (step) add_ranks(below, *step, dumps);
  }
  if (dumps.empty()) add_ranks(directory, -1, dumps);
  if (dumps.empty()) {
    return fail(ErrorKind::kUsage,
                fmt::format("{}: found neither dump.json nor directories rank<N> or step<N> with "
                            "one",
                            directory.string()));
  }
  return dumps;
}

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
void align_single(Dumps& target, Dumps& golden) {
  if (target.size() != 1 || golden.size() != 1) return;
  const Place of_target = target.begin()->first;
  const Place of_golden = golden.begin()->first;
  const bool fits =
      (of_target.step == of_golden.step || of_target.step < 0 || of_golden.step < 0) &&
      (of_target.rank == of_golden.rank || of_target.rank < 0 || of_golden.rank < 0);
  if (!fits || of_target == of_golden) return;
  fs::path path = golden.begin()->second;
  golden.clear();
  golden.emplace(of_target, std::move(path));
}

Result<DumpPairs> pair_directories(const fs::path& target, const fs::path& golden) {
  Result<Dumps> of_target = dumps_in(target);
  if (!of_target) return propagate(of_target);
  Result<Dumps> of_golden = dumps_in(golden);
  if (!of_golden) return propagate(of_golden);
  align_single(*of_target, *of_golden);
  DumpPairs found;
  for (const auto& [place, path] : *of_target) {
    const auto other = of_golden->find(place);
    if (other == of_golden->end()) {
      found.left_out.push_back(fmt::format("{}: {} has no counterpart in {}", target.string(),
                                           shown(place), golden.string()));
      continue;
    }
    DumpPair pair{path,
                  other->second,
                  suffix_of(place),
                  shown(place),
                  std::max<std::int64_t>(place.step, 0),
                  std::max<std::int64_t>(place.rank, 0)};
    found.pairs.push_back(std::move(pair));
  }
  for (const auto& [place, path] : *of_golden) {
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

bool has_dumps(const fs::path& directory) { return dumps_in(directory).has_value(); }

Result<DumpPairs> find_dumps(const fs::path& target, const fs::path& golden) {
  std::error_code ignored;
  const bool target_is_directory = fs::is_directory(target, ignored);
  const bool golden_is_directory = fs::is_directory(golden, ignored);
  if (target_is_directory != golden_is_directory) {
    return fail(ErrorKind::kUsage,
                fmt::format("{} is a {}, {} a {}: give two files or two directories",
                            target.string(), target_is_directory ? "directory" : "file",
                            golden.string(), golden_is_directory ? "directory" : "file"));
  }
  if (target_is_directory) return pair_directories(target, golden);
  DumpPairs found;
  found.pairs.push_back({target, golden, "", "", 0, 0});
  return found;
}

}  // namespace msprobe::dump_compare
