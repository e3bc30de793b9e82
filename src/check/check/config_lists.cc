// SPDX-License-Identifier: Apache-2.0
#include "check/config_lists.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/op.h"

namespace msprobe::check {

Result<void> check_listed_names(std::string_view key, const std::vector<std::string>& names) {
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    if (!ops::may_be_listed(name)) unknown.push_back(fmt::format("'{}'", name));
  }
  if (unknown.empty()) return {};
  return fail(ErrorKind::kUsage,
              fmt::format("Invalid api in {}: [{}]", key, fmt::join(unknown, ", ")));
}

Result<void> check_error_data_path(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return {};
  return fail(ErrorKind::kUsage, fmt::format("error_data_path: {} does not exist", path.string()));
}

}  // namespace msprobe::check
