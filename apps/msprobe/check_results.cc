// SPDX-License-Identifier: Apache-2.0
#include "check_results.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/look_up.h"
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
Result<std::vector<fs::path>> places_in(const fs::path& directory,
                                        std::initializer_list<std::string_view> words) {
  const auto entries = list_directory(directory);
  if (!entries) return propagate(entries);
  std::vector<std::pair<std::uint64_t, fs::path>> found;
  for (const fs::directory_entry& entry : *entries) {
    std::error_code ignored;
    const auto number = numbered(entry.path().filename().string(), words);
    if (number && entry.is_directory(ignored)) found.emplace_back(*number, entry.path());
  }
  std::ranges::sort(found);
  std::vector<fs::path> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

// The results of a check of several dumps: DIR/step1/rank0, DIR/rank0 or DIR/step1.
Result<std::vector<NamedResult>> results_below(const fs::path& directory) {
  std::vector<NamedResult> results;
  const Result<std::vector<fs::path>> outer = places_in(directory, {"step", "rank", "proc"});
  if (!outer) return propagate(outer);
  for (const fs::path& below : *outer) {
    Result<std::vector<fs::path>> places = places_in(below, {"rank", "proc"});
    if (!places) return propagate(places);
    places->insert(places->begin(), below);
    for (const fs::path& place : *places) {
      const Result<std::string> latest = latest_result(place);
      if (!latest) return propagate(latest);
      if (latest->empty()) continue;
      results.push_back({*latest, place.lexically_relative(directory).string()});
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

Result<std::string> latest_result(const fs::path& directory) {
  const Result<bool> there = is_there(directory);
  if (!there) return propagate(there);
  if (!*there) return "";
  const auto entries = list_directory(directory);
  if (!entries) return propagate(entries);
  std::string latest;
  for (const fs::directory_entry& entry : *entries) {
    const std::string path = entry.path().string();
    if (journal::csv_paths_of(entry.path())) latest = std::max(latest, path);
  }
  return latest;
}

Result<std::vector<NamedResult>> results_to_show(const std::string& given) {
  std::error_code error;
  if (fs::is_directory(given, error)) {
    const Result<fs::path> readable = check_input_directory(given);
    if (!readable) return propagate(readable);
    const Result<std::string> latest = latest_result(given);
    if (!latest) return propagate(latest);
    if (!latest->empty()) return std::vector<NamedResult>{{*latest, {}}};
    Result<std::vector<NamedResult>> several = results_below(given);
    if (!several || !several->empty()) return several;
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
