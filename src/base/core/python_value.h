// SPDX-License-Identifier: Apache-2.0
// A result of a call that is not a tensor, as Python has it.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace msprobe {

// What nobody looks into.
struct OtherValue {
  std::string type;  // "<class 'torch.Size'>"
  bool operator==(const OtherValue&) const = default;
};

// std::monostate is None.
using PythonValue = std::variant<std::monostate, bool, std::int64_t, double, std::complex<double>,
                                 std::string, OtherValue>;

// As Python prints it: "<class 'int'>".
std::string_view python_type(const PythonValue& value);

}  // namespace msprobe
