// SPDX-License-Identifier: Apache-2.0
// The dump.json files behind what a user names: a file, or a directory of a rank, a step or several
// steps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"

namespace msprobe::app {

struct InputDump {
  std::string path;             // of dump.json, beginning as the user gave it
  std::filesystem::path place;  // "step1/rank0" below the directory; empty for a file
};

// In the order of steps and ranks; at least one. A name that is not one of a directory is passed
// on as it is.
Result<std::vector<InputDump>> input_dumps(const std::string& given);

// The only one; an error lists them where there are several.
Result<std::string> one_dump(const std::string& given);

}  // namespace msprobe::app
