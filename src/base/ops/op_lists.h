// SPDX-License-Identifier: Apache-2.0
// The lists that the Python collector reads, as the table has them. They are files of the package,
// which users edit; make_op_lists writes them, and a test holds them against the table.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace msprobe::ops {

struct OpList {
  std::string_view path;  // below python/msprobe
  std::string (*text)();
};
std::span<const OpList> op_lists();

}  // namespace msprobe::ops
