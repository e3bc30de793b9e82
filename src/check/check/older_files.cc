// SPDX-License-Identifier: Apache-2.0
#include "check/older_files.h"

#include <fmt/format.h>

#include "core/path_check.h"

namespace msprobe::check {
namespace {

namespace fs = std::filesystem;

bool is_json(const std::string& path) { return path.ends_with(".json"); }

}  // namespace

Result<CheckedOlderFiles> check_older_files(const OlderFiles& files) {
  if (!is_json(files.forward) || !(files.backward.empty() || is_json(files.backward))) {
    return fail(ErrorKind::kUsage, files.backward.empty()
                                       ? "The forward_input_file should be a json file!"
                                       : "The forward_input_file and backward_input_file should "
                                         "be a json file!");
  }
  const Result<fs::path> forward = check_input_file(files.forward, {.suffix = ".json"});
  if (!forward) return propagate(forward);
  CheckedOlderFiles checked{*forward, std::nullopt, forward->parent_path()};
  if (!files.backward.empty()) {
    const Result<fs::path> backward = check_input_file(files.backward, {.suffix = ".json"});
    if (!backward) return propagate(backward);
    checked.backward = *backward;
  }
  if (!files.data.empty()) {
    const Result<fs::path> data = check_input_directory(files.data);
    if (!data) return propagate(data);
    checked.data = *data;
  }
  return checked;
}

Result<void> must_not_exist(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  return fail(ErrorKind::kUsage,
              fmt::format("file {} already exists, please remove it first or use a new dump path",
                          path.string()));
}

}  // namespace msprobe::check
