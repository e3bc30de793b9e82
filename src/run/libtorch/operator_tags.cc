// SPDX-License-Identifier: Apache-2.0
#include "libtorch/operator_tags.h"

#include "libtorch/since.h"

namespace msprobe::libtorch {

#if MSPROBE_TORCH_SINCE(2, 1)
bool is_pointwise(const c10::OperatorHandle& op) { return op.hasTag(at::Tag::pointwise); }
#else
bool is_pointwise(const c10::OperatorHandle& /*op*/) { return false; }
#endif

}  // namespace msprobe::libtorch
