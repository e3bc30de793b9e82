// SPDX-License-Identifier: Apache-2.0
#include "check_results.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/path_check.h"
#include "journal/csv_pair.h"

namespace msprobe::app {

namespace fs = std::filesystem;

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

Result<fs::path> result_to_show(const std::string& given) {
  std::error_code error;
  if (fs::is_directory(given, error)) {
    if (const std::string latest = latest_result(given); !latest.empty()) return fs::path(latest);
    return fail(ErrorKind::kUsage, fmt::format("{}: no accuracy_checking_result_*.csv in it; name "
                                               "the -o directory of a check, or a CSV",
                                               given));
  }
  Result<fs::path> csv = check_input_file(given, {.suffix = ".csv"});
  if (!csv && given.ends_with(".json")) {
    csv.error().message += " Results come from msprobe acc_check DUMP -o DIR.";
  }
  return csv;
}

}  // namespace msprobe::app
