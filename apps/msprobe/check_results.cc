// SPDX-License-Identifier: Apache-2.0
#include "check_results.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/path_check.h"
#include "core/shell_words.h"
#include "journal/csv_pair.h"

namespace msprobe::app {

namespace fs = std::filesystem;

namespace {

// "step12" -> 12; nothing if a name is not one of these words and a number.
std::optional<std::uint64_t> numbered(std::string_view name,
                                      std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (!name.starts_with(word)) continue;
    const std::string_view digits = name.substr(word.size());
    std::uint64_t number = 0;
    const auto [end, fault] = std::from_chars(digits.begin(), digits.end(), number);
    if (fault == std::errc() && end == digits.end() && !digits.empty()) return number;
  }
  return name == "rank" ? std::optional<std::uint64_t>(0) : std::nullopt;
}

// Directories of steps or ranks in `directory`, in the order of their numbers.
std::vector<fs::path> places_in(const fs::path& directory,
                                std::initializer_list<std::string_view> words) {
  std::vector<std::pair<std::uint64_t, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const auto number = numbered(entry.path().filename().string(), words);
    if (number && entry.is_directory(error)) found.emplace_back(*number, entry.path());
  }
  std::ranges::sort(found);
  std::vector<fs::path> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

// The results of a check of several dumps: DIR/step1/rank0, DIR/rank0 or DIR/step1.
std::vector<NamedResult> results_below(const fs::path& directory) {
  std::vector<NamedResult> results;
  for (const fs::path& outer : places_in(directory, {"step", "rank", "proc"})) {
    std::vector<fs::path> inner = places_in(outer, {"rank", "proc"});
    inner.insert(inner.begin(), outer);
    for (const fs::path& place : inner) {
      if (const std::string latest = latest_result(place); !latest.empty()) {
        results.push_back({latest, place.lexically_relative(directory).string()});
      }
    }
  }
  return results;
}

}  // namespace

Result<fs::path> resumed_directory(const std::string& given, std::span<const InputDump> dumps) {
  std::error_code error;
  if (fs::is_directory(given, error)) return check_input_directory(given);
  const fs::path directory = fs::path(given).lexically_normal().parent_path();
  for (const InputDump& dump : dumps) {
    // "out" of "out/step1/rank0", if that dump is one of them.
    fs::path above = directory;
    for (auto depth = std::ranges::distance(dump.place); depth > 0; --depth) {
      above = above.parent_path();
    }
    if ((above / dump.place).lexically_normal() != directory) continue;
    return above.empty() ? fs::path(".") : above;
  }
  return fail(ErrorKind::kUsage,
              fmt::format("{}: to continue a check of several dumps, pass the directory of its "
                          "results, the -o of the interrupted check: -csv_path DIR",
                          given));
}

std::string latest_result(const fs::path& directory) {
  std::string latest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string path = entry.path().string();
    if (journal::csv_paths_of(entry.path())) latest = std::max(latest, path);
  }
  return latest;
}

Result<std::vector<NamedResult>> results_to_show(const std::string& given) {
  std::error_code error;
  if (fs::is_directory(given, error)) {
    if (const std::string latest = latest_result(given); !latest.empty()) {
      return std::vector<NamedResult>{{latest, {}}};
    }
    std::vector<NamedResult> several = results_below(given);
    if (!several.empty()) return several;
    const Result<fs::path> readable = check_input_directory(given);
    if (!readable) return propagate(readable);
    return fail(ErrorKind::kUsage,
                fmt::format("{}: no accuracy_checking_result_*.csv in it, nor in directories "
                            "step<N> and rank<N>; name the -o directory of a check, or a CSV",
                            given));
  }
  Result<fs::path> csv = check_input_file(given, {.suffix = ".csv"});
  if (!csv && given.ends_with(".json")) {
    csv.error().message += " Results come from msprobe acc_check DUMP -o DIR.";
  }
  if (!csv) return propagate(csv);
  return std::vector<NamedResult>{{*csv, {}}};
}

Result<fs::path> details_to_compare(const std::string& given) {
  std::error_code error;
  if (!fs::is_directory(given, error)) {
    const auto beside = journal::csv_paths_of(given);
    if (beside && fs::exists(beside->details, error)) {
      return fail(ErrorKind::kUsage,
                  fmt::format("{} is the result CSV of a check: pass the details CSV beside it, {}",
                              given, beside->details.filename().string()));
    }
    return check_input_file(given, {.suffix = ".csv"});
  }
  const Result<std::vector<NamedResult>> results = results_to_show(given);
  if (!results) return propagate(results);
  if (results->size() > 1) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("{} has the results of {} dumps: name the directory of one, such as {}", given,
                    results->size(), shell_path(results->front().csv.parent_path())));
  }
  const auto paths = journal::csv_paths_of(results->front().csv);
  return check_input_file(paths->details, {.suffix = ".csv"});
}

}  // namespace msprobe::app
