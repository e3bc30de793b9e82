// SPDX-License-Identifier: Apache-2.0
// An engine's command on its way to another machine.
#pragma once

#include <string>
#include <string_view>

#include "engines/engine_process.h"

namespace msprobe::cluster {

// Words end with a NUL, which no argument of a program can hold.
std::string encode_command(const engines::EngineCommand& command);
engines::EngineCommand decode_command(std::string_view text);

}  // namespace msprobe::cluster
