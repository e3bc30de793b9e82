// SPDX-License-Identifier: Apache-2.0
// Errors of devices and their software that users ask about, and what to do about them.
#pragma once

#include <string>
#include <string_view>

namespace msprobe::check {

// Empty if the text holds no known error.
std::string_view advice_on(std::string_view error);

// The error, with the advice behind it where there is one.
std::string with_advice(std::string_view error);

}  // namespace msprobe::check
