// SPDX-License-Identifier: Apache-2.0
// Automatic mixed precision, with PyTorch's own lists of operators.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "libtorch/aten.h"

namespace msprobe::sim {

using namespace at::autocast;  // the lists name their parts without a namespace

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define MSPROBE_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define MSPROBE_FLOAT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define MSPROBE_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(MSPROBE_LOWER)
  AT_FORALL_FP32(MSPROBE_FLOAT)
  AT_FORALL_PROMOTE(MSPROBE_PROMOTE)
#undef MSPROBE_LOWER
#undef MSPROBE_FLOAT
#undef MSPROBE_PROMOTE
}

}  // namespace msprobe::sim
