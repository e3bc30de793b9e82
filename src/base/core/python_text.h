// SPDX-License-Identifier: Apache-2.0
// Values as Python's str() and repr() print them, which tables of recorded values follow.
#pragma once

#include <string>
#include <string_view>

namespace msprobe {

// "0.1", "1e-05", "32.0", "nan", "-inf"
void append_python_float(std::string& out, double value);

// In quotes, as inside a printed list: 'it' or "it's"; line ends as \n.
void append_python_string(std::string& out, std::string_view utf8);

}  // namespace msprobe
