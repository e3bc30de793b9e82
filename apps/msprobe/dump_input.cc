// SPDX-License-Identifier: Apache-2.0
#include "dump_input.h"

#include <fmt/format.h>

#include "core/path_check.h"
#include "dump/step_tree.h"

namespace msprobe::app {

namespace fs = std::filesystem;

Result<std::vector<InputDump>> input_dumps(const std::string& given) {
  std::error_code error;
  if (!fs::exists(given, error) && !error && !given.starts_with('~')) {
    return fail(ErrorKind::kUsage,
                fmt::format("The file path {} does not exist. Name a dump.json, or the dump_path "
                            "of a recording.",
                            given));
  }
  if (!fs::is_directory(given, error)) return std::vector<InputDump>{{given, {}}};
  const fs::path directory = given;
  if (const Result<fs::path> good = check_input_directory(directory); !good) return propagate(good);
  const Result<dump::StepTree> tree = dump::find_dumps(directory);
  if (!tree) return propagate(tree);
  std::vector<InputDump> dumps;
  for (const auto& [place, found] : *tree) {
    const fs::path below = found.dump.parent_path().lexically_relative(directory);
    dumps.push_back({found.dump.string(), below == "." ? fs::path() : below});
  }
  return dumps;
}

Result<std::string> one_dump(const std::string& given) {
  const Result<std::vector<InputDump>> dumps = input_dumps(given);
  if (!dumps) return propagate(dumps);
  if (dumps->size() == 1) return dumps->front().path;
  return fail(ErrorKind::kUsage, fmt::format("{} contains {} dumps; choose one of them, such as {}",
                                             given, dumps->size(), dumps->front().path));
}

}  // namespace msprobe::app
