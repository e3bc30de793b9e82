// SPDX-License-Identifier: Apache-2.0
// -forward and -backward: the files of the older recorder, as run_ut and run_overflow_check take
// them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"

namespace msprobe::cli {
class Parser;
}

namespace msprobe::app {

struct OlderFiles {
  std::string forward;
  std::string backward;
  std::string data;
};

// Declares -forward, -backward and --data_path.
void declare_older_files(cli::Parser& command, OlderFiles& files);

struct CheckedOlderFiles {
  std::filesystem::path forward;
  std::optional<std::filesystem::path> backward;
  std::filesystem::path data;  // below which tensor files are read
};

// REQUIRES: files.forward is not empty.
Result<CheckedOlderFiles> check_older_files(const OlderFiles& files);

// The older commands do not overwrite a result.
Result<void> must_not_exist(const std::filesystem::path& path);

}  // namespace msprobe::app
