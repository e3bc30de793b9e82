// SPDX-License-Identifier: Apache-2.0
// How MindSpore's own kernels compute some elementary functions, and by how much a result may be
// off for that alone. docs/verdicts.md derives the numbers.
#pragma once

#include <string_view>

#include "strict/conditioning.h"
#include "strict/float_type.h"

namespace msprobe::strict {

struct KernelError {
  double relative = 0;  // of the result: an inexact factor
  double absolute = 0;  // of the result: something near 1 was rounded on the way
  double argument = 0;  // every argument may have been off by this much, regardless of its size

  bool any() const { return relative > 0 || absolute > 0; }
};

// `bare_name`: PyTorch's. All zero where the kernel needs no more than any other.
KernelError mindspore_kernel(std::string_view bare_name, Direction direction,
                             const FloatType& type);

}  // namespace msprobe::strict
