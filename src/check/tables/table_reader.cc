// SPDX-License-Identifier: Apache-2.0
#include "tables/table_reader.h"

#include <algorithm>

namespace msprobe::tables {

bool same_title(std::string_view one, std::string_view other) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(trim(one), trim(other), {}, lower, lower);
}

}  // namespace msprobe::tables
