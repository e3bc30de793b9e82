// SPDX-License-Identifier: Apache-2.0
// What MindSpore's recorded names are called in PyTorch. The check runs the calls of a dump by this
// table, the comparison of two dumps pairs them by it.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe::ops {

// An API of another framework that is one of PyTorch's under another name, or with its arguments in
// another order.
struct RenamedRow {
  std::string_view api;        // as recorded: "MintFunctional.mse_loss"
  std::string_view torch;      // "Functional.mse_loss"
  std::string_view signature;  // its own parameters; empty: those of PyTorch
  // How they are passed on: "input target reduction=reduction". Keywords that the caller did not
  // give, or gave as None, are left to PyTorch's defaults.
  std::string_view arguments;
};
std::span<const RenamedRow> mindspore_renamed();

// The groups of PyTorch in which a name of a MindSpore group is looked for; empty: none.
struct MindSporeGroup {
  std::string_view group;
  std::array<std::string_view, 3> torch;
};
// Groups whose calls can be checked.
std::span<const MindSporeGroup> mindspore_groups();

// Internal spellings of an API: "add_ex" is "add".
inline constexpr std::string_view kInternal = "_ex";

// The fused attention is known by the name of the same operator of PyTorch's NPU back end.
inline constexpr std::string_view kMindSporeAttention = "Functional.flash_attention_score";
inline constexpr std::string_view kTorchAttention = "NPU.npu_fusion_attention";

// The names that PyTorch may have recorded the API by, the likeliest first: "Functional.linear" for
// "MintFunctional.dense". Empty if there is none (Primitive, Jit).
std::vector<std::string> torch_names_of(std::string_view api);

}  // namespace msprobe::ops
