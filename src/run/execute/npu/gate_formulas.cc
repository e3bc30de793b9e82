// SPDX-License-Identifier: Apache-2.0
// Formulas of GELU and its gate. Far below zero 1 + erf(x) and 1 + tanh(x) cancel: what a device
// gives there is as wrong as the rounding of x, however small the result is.
#include "execute/npu/formula.h"

namespace msprobe::execute::npu {
namespace {

FormulaResults gelu_formula(const Bound& a, Wish wish) {
  const at::Tensor& x = a.tensor("input");
  const Bounded y = gelu(exact(x, wish.bounds), a.text("approximate") == "tanh");
  return {as_floats(y, x.scalar_type())};
}

FormulaResults geglu_formula(const Bound& a, Wish wish) {
  const at::Tensor& x = a.tensor("input");
  const auto half = [&](std::size_t which) {
    return exact(x.chunk(2, a.integer("dim"))[which], wish.bounds);
  };
  const bool left = a.boolean("activate_left");
  const Bounded activated = gelu(half(left ? 0 : 1), a.integer("approximate") != 0);
  return {as_floats(half(left ? 1 : 0) * activated, x.scalar_type()),
          as_floats(activated, x.scalar_type())};
}

// Bounds are those of float32, in which the half types are computed too.
bool is_single_or_half(const Bound& a) { return a.tensor("input").element_size() <= 4; }

constexpr FormulaRow kGateRows[] = {
    {.api = "NPU.npu_geglu",
     .signature = "input|self|x, dim=-1, approximate=1, activate_left=False",
     .formula = &geglu_formula,
     .judges_only = true,
     .applies = &is_single_or_half},
    {.api = "NPU.npu_gelu",
     .signature = "input|self, *, approximate='none'",
     .formula = &gelu_formula,
     .single = true,
     .judges_only = true,
     .applies = &is_single_or_half},
};

}  // namespace

std::span<const FormulaRow> gate_formulas() { return kGateRows; }

}  // namespace msprobe::execute::npu
