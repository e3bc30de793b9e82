// SPDX-License-Identifier: Apache-2.0
#include "core/python_value.h"

#include <array>

namespace msprobe {

std::string_view python_type(const PythonValue& value) {
  constexpr std::array<std::string_view, 6> kTypes = {"<class 'NoneType'>", "<class 'bool'>",
                                                      "<class 'int'>",      "<class 'float'>",
                                                      "<class 'complex'>",  "<class 'str'>"};
  static_assert(kTypes.size() + 1 == std::variant_size_v<PythonValue>);
  if (const auto* const other = std::get_if<OtherValue>(&value)) return other->type;
  return kTypes[value.index()];
}

}  // namespace msprobe
