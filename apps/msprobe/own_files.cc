// SPDX-License-Identifier: Apache-2.0
#include "own_files.h"

#include <cstdlib>
#include <system_error>

#include "engines/engine_process.h"

namespace msprobe::app {

namespace fs = std::filesystem;

fs::path this_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

std::optional<fs::path> from_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value);
}

Result<fs::path> find_own_engine(const std::string& option) {
  const std::optional<fs::path> named =
      option.empty() ? from_environment("MSPROBE_ENGINE") : fs::path(option);
  return engines::find_engine(named, this_program());
}

}  // namespace msprobe::app
