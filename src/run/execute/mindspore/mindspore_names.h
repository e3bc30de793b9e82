// SPDX-License-Identifier: Apache-2.0
// What MindSpore's recorded names stand for: `Mint`, `MintFunctional`, the methods of its tensors,
// and its fused attention. Most are PyTorch's APIs; the names and arguments that
// differ are in ops/mindspore_names.h, the few that mean something else here.
#pragma once

#include <span>
#include <string_view>

#include "core/call_name.h"
#include "execute/api.h"

namespace msprobe::execute::mindspore {

// APIs whose meaning differs from PyTorch's.
std::span<const ApiRow> own_rows();

// Null if neither MindSpore's rows nor the linked PyTorch have such an API.
const Api* find(std::string_view type, std::string_view bare_name);

// PyTorch's name: {"Torch", "add"} for Mint.add; as recorded if there is none.
CallName torch_name(const CallName& recorded);

}  // namespace msprobe::execute::mindspore
