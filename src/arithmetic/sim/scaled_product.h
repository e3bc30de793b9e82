// SPDX-License-Identifier: Apache-2.0
// Products of codes with scales on the simulated device: every recipe and layout, also those that
// the CPU has no kernel for, with the matrix unit and the faults of the session.
#pragma once

#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "sim/faults.h"

namespace msprobe::sim {

// Whether the fault changes what this call multiplies or how it adds; no for other operators.
bool strikes_scaled(Fault fault, const c10::OperatorHandle& op, torch::jit::Stack& stack);

// Computes such a product. False: another operator, or one that the CPU computes as it is.
bool compute_scaled(const ProfileRow& profile, const c10::OperatorHandle& op,
                    torch::jit::Stack& stack, const std::vector<Fault>& faults);

}  // namespace msprobe::sim
