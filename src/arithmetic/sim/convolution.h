// SPDX-License-Identifier: Apache-2.0
// Convolutions, which PyTorch passes to a device under their own names.
#pragma once

#include <ATen/core/stack.h>

#include "sim/faults.h"

namespace msprobe::sim {

// The arguments of convolution_overrideable on top of the stack, on the CPU; its result instead.
void convolve(SimProfile profile, torch::jit::Stack& stack);
// Those of convolution_backward_overrideable.
void convolve_backward(SimProfile profile, torch::jit::Stack& stack);

}  // namespace msprobe::sim
