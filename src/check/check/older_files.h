// SPDX-License-Identifier: Apache-2.0
// -forward and -backward: the files of the older recorder, as run_ut and run_overflow_check take
// them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"

namespace msprobe::check {

// As the user names them.
struct OlderFiles {
  std::string forward;   // forward_info_{pid}.json
  std::string backward;  // backward_info_{pid}.json
  std::string data;      // directory of the tensor files; empty: that of `forward`
};

struct CheckedOlderFiles {
  std::filesystem::path forward;
  std::optional<std::filesystem::path> backward;
  std::filesystem::path data;  // below which tensor files are read
};

// REQUIRES: files.forward is not empty.
Result<CheckedOlderFiles> check_older_files(const OlderFiles& files);

// The older commands do not overwrite a result.
Result<void> must_not_exist(const std::filesystem::path& path);

}  // namespace msprobe::check
