// SPDX-License-Identifier: Apache-2.0
// Bench definitions of the fused NPU operators around GELU and gates.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

// `approximate`: "none" (erf) or "tanh".
at::Tensor npu_gelu(const at::Tensor& x, const std::string& approximate);
at::Tensor npu_gelu_backward(const at::Tensor& grad, const at::Tensor& x,
                             const std::string& approximate);

// Which half of dimension `dim` goes through GELU; the other one is multiplied with the result.
struct GeluGate {
  std::int64_t dim = -1;
  bool tanh = true;
  bool activate_left = false;
};

// The product, and GELU of the activated half.
std::tuple<at::Tensor, at::Tensor> npu_geglu(const at::Tensor& x, const GeluGate& gate);
// `gelu`: the second result of the forward, as it was rounded there.
at::Tensor npu_geglu_grad(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gelu,
                          const GeluGate& gate);

struct ClippedSwiglu {
  std::int64_t dim = -1;
  double alpha = 1.702;
  double limit = 7;
  double bias = 1;
  bool interleaved = true;  // a and b are neighbours in memory; else the halves of a row
};

// a * sigmoid(alpha * a) * (b + bias), a clipped from above and b on both sides. A row is
// everything from dimension `dim` on. Rows from `rows` on are not defined and are zero here.
at::Tensor npu_clipped_swiglu(const at::Tensor& x, const ClippedSwiglu& options,
                              c10::optional<std::int64_t> rows);

}  // namespace msprobe::execute::npu
