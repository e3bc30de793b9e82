#include "divergence/step_tree.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace msprobe::divergence {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDumpFile = "dump.json";

// The number behind `word`; the bare word counts as 0 where `bare` allows it.
std::optional<int> numbered(std::string_view name, std::string_view word, bool bare) {
  if (!name.starts_with(word)) return std::nullopt;
  name.remove_prefix(word.size());
  if (name.empty()) return bare ? std::optional(0) : std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

struct Child {
  int number;
  fs::path path;
};

std::vector<Child> children(const fs::path& directory, std::string_view word, bool bare) {
  std::vector<Child> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::optional<int> number = numbered(it->path().filename().string(), word, bare);
    std::error_code ignored;
    if (number && it->is_directory(ignored)) found.push_back({*number, it->path()});
  }
  std::ranges::sort(found, {},
                    [](const Child& child) { return std::pair(child.number, child.path); });
  return found;
}

bool has_dump(const fs::path& directory) {
  std::error_code error;
  return fs::is_regular_file(directory / kDumpFile, error);
}

std::optional<StepDumps> step_of(const fs::path& directory) {
  StepDumps step{directory, {}};
  for (const Child& rank : children(directory, "rank", true)) {
    if (has_dump(rank.path)) step.ranks.push_back({rank.number, rank.path / kDumpFile});
  }
  if (step.ranks.empty()) {
    const std::vector<Child> processes = children(directory, "proc", false);
    if (processes.size() == 1 && has_dump(processes.front().path)) {
      step.ranks.push_back({0, processes.front().path / kDumpFile});
    }
  }
  if (step.ranks.empty() && has_dump(directory)) step.ranks.push_back({0, directory / kDumpFile});
  if (step.ranks.empty()) return std::nullopt;
  return step;
}

}  // namespace

Result<std::vector<StepDumps>> find_steps(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return fail(ErrorKind::kUsage, fmt::format("{}: no such file or directory", path.string()));
  }
  std::vector<StepDumps> steps;
  if (!fs::is_directory(status)) {
    steps.push_back({path.parent_path(), {{0, path}}});
    return steps;
  }
  for (const Child& child : children(path, "step", false)) {
    if (std::optional<StepDumps> step = step_of(child.path)) steps.push_back(*std::move(step));
  }
  if (steps.empty()) {
    if (std::optional<StepDumps> step = step_of(path)) steps.push_back(*std::move(step));
  }
  if (!steps.empty()) return steps;
  return fail(ErrorKind::kUsage,
              fmt::format("{}: no dump.json here, in rank<N> or in step<N>/rank<N>; give the "
                          "directory of a step",
                          path.string()));
}

}  // namespace msprobe::divergence
