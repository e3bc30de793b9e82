// SPDX-License-Identifier: Apache-2.0
// The rows of the fused NPU operators and of their explicit backwards.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "execute/adapter.h"

namespace msprobe::execute::npu {

std::span<const ApiRow> npu_operators();
std::span<const ApiRow> further_operators();
std::span<const ApiRow> training_operators();

// Where the call asks for dropout inside an attention, takes it out, so that a device which has the
// operator can be compared at all: its mask cannot be drawn again. What was changed, for the
// message; empty if nothing was.
std::string without_dropout(std::string_view api, PyCall& call);

// npu_fusion_attention_grad gives 3, 4 or 5 gradients, as its version goes. Takes those off the end
// of the bench that are None and that the device does not have.
void drop_missing_gradients(std::string_view api, PyValue& bench, const PyValue& device);

// Sets what the operator leaves unwritten to zero, as the bench has it: rows behind the last group.
void clear_undefined(std::string_view api, const PyCall& call, const PyValue& bench,
                     PyValue& other);

}  // namespace msprobe::execute::npu
