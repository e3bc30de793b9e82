// SPDX-License-Identifier: Apache-2.0
// What the system says of a file.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "core/result.h"

namespace msprobe::collect {

inline Failure io_failure(const std::string& path) {
  return fail(ErrorKind::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace msprobe::collect
