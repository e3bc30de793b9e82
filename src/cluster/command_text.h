// An engine's command on its way to another machine.
#pragma once

#include <string>
#include <string_view>

#include "check/engine_process.h"

namespace msprobe::cluster {

// Words end with a NUL, which no argument of a program can hold.
std::string encode_command(const check::EngineCommand& command);
check::EngineCommand decode_command(std::string_view text);

}  // namespace msprobe::cluster
