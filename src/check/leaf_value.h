// SPDX-License-Identifier: Apache-2.0
// A Python number, truth value or text that an engine wrote down.
#pragma once

#include <string_view>

#include "judge/judge.h"

namespace msprobe::check {

// `type` as Python prints it ("<class 'float'>"), `text` as repr() does ("1e-05", "(1+2j)", "nan").
judge::Value leaf_value(std::string_view type, std::string_view text);

}  // namespace msprobe::check
