// SPDX-License-Identifier: Apache-2.0
// Products and convolutions as a matrix unit computes them. Each function takes the operator's
// arguments from the stack and leaves its results there, or leaves the stack as it was and says
// false: not for these dtypes, or not a product.
#pragma once

#include <ATen/core/stack.h>

#include "libtorch/aten.h"
#include "sim/faults.h"

namespace msprobe::sim {

// left @ right of float32 tensors, with batches in front where both have them.
at::Tensor unit_matmul(const units::Unit& unit, const at::Tensor& left, const at::Tensor& right);

bool compute_unit_product(const ProfileRow& profile, const c10::OperatorHandle& op,
                          torch::jit::Stack& stack);

// With groups, in one or two dimensions.
bool unit_convolve(const ProfileRow& profile, torch::jit::Stack& stack);
bool unit_convolve_backward(const ProfileRow& profile, torch::jit::Stack& stack);

// Takes the arguments of an operator from the stack and leaves its result there.
void give_result(const c10::OperatorHandle& op, torch::jit::Stack& stack, at::Tensor result);

}  // namespace msprobe::sim
