// SPDX-License-Identifier: Apache-2.0
// The rules that both configuration files share.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace msprobe::check {

// Every name must be one that lists may hold.
Result<void> check_listed_names(std::string_view key, const std::vector<std::string>& names);

Result<void> check_error_data_path(const std::filesystem::path& path);

}  // namespace msprobe::check
