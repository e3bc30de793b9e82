// SPDX-License-Identifier: Apache-2.0
// The text of runner.py, embedded: the engine needs no file beside it.
#pragma once

#include <string_view>

namespace msprobe::mindspore {

extern const std::string_view kProgram;

}  // namespace msprobe::mindspore
