// SPDX-License-Identifier: Apache-2.0
// The text of host.py, embedded: the engine needs no file beside it.
#pragma once

#include <string_view>

namespace msprobe::engine {

extern const std::string_view kHostProgram;

}  // namespace msprobe::engine
