// SPDX-License-Identifier: Apache-2.0
// The beginning of a file, where what it is can be told from it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "core/result.h"

namespace msprobe {

// The first bytes of a regular file: `count`, or all that it has.
Result<std::string> load_start(const std::filesystem::path& path, std::size_t count);

}  // namespace msprobe
