// SPDX-License-Identifier: Apache-2.0
// How the arguments of npu_grouped_matmul cut its operands.
#pragma once

#include "execute/adapter.h"
#include "execute/npu/experts.h"

namespace msprobe::execute::npu {

struct GroupedCut {
  std::vector<std::int64_t> ends;
  GroupedBy by = GroupedBy::kList;
  bool one_result = false;
};
GroupedCut grouped_cut(const Bound& a);

// Whether the operands are codes, or weights of few bits.
bool is_quantised_product(const Bound& a);

}  // namespace msprobe::execute::npu
