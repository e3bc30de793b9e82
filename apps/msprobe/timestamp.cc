// SPDX-License-Identifier: Apache-2.0
#include "timestamp.h"

#include <ctime>

#include <fmt/chrono.h>

namespace msprobe::app {

std::string local_timestamp() {
  return fmt::format("{:%Y%m%d%H%M%S}", fmt::localtime(std::time(nullptr)));
}

}  // namespace msprobe::app
