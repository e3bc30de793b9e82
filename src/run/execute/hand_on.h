// SPDX-License-Identifier: Apache-2.0
// APIs that Python passes on to an ATen operator after it has renamed, reordered or translated
// their arguments. A row says how; no code is needed.
#pragma once

#include <optional>
#include <string_view>

#include "execute/adapter.h"

namespace msprobe::execute {

struct HandOnRow {
  std::string_view api;
  std::string_view signature;  // Python's
  std::string_view aten;       // with a '_' behind it where the call says inplace=True
  // Words: a parameter's name; name:2 to write one int out twice; a literal; `reduction` becomes
  // ATen's number, from size_average and reduce where they are given.
  std::string_view arguments;
};

const HandOnRow* find_hand_on(std::string_view api);

PyValue hand_on(const HandOnRow& row, const Bound& a);

// 0 none, 1 mean, 2 sum. For adapters of losses; reads reduction, size_average and reduce.
std::int64_t reduction_of(const Bound& a);

}  // namespace msprobe::execute
