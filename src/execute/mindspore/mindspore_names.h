// SPDX-License-Identifier: Apache-2.0
// What MindSpore's recorded names stand for: `Mint`, `MintFunctional`, the methods of its tensors,
// and its fused attention. Most are PyTorch's APIs of the same name and arguments; the rows here
// are those that are not.
#pragma once

#include <span>
#include <string_view>

#include "core/call_name.h"
#include "execute/api.h"
#include "execute/renamed.h"

namespace msprobe::execute::mindspore {

// Other names, other order of arguments.
std::span<const RenamedRow> renamed_rows();

// APIs whose meaning differs from PyTorch's.
std::span<const ApiRow> own_rows();

// Null if neither MindSpore's rows nor the linked PyTorch have such an API.
const Api* find(std::string_view type, std::string_view bare_name);

// PyTorch's name: {"Torch", "add"} for Mint.add; as recorded if there is none.
CallName torch_name(const CallName& recorded);

}  // namespace msprobe::execute::mindspore
