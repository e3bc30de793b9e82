// SPDX-License-Identifier: Apache-2.0
#include "strict/round_bits.h"

#include <cmath>

namespace msprobe::strict {

at::Tensor kept_bits(const at::Tensor& tensor, int bits) {
  const at::Tensor parts = tensor.is_complex() ? at::view_as_real(tensor) : tensor;
  const at::Tensor wide = parts.to(at::kDouble);
  // x + c - c with c = x * 2^(53 - bits - 1) * 1.5 would overflow; frexp does not.
  auto [mantissa, exponent] = at::frexp(wide);
  const double unit = std::ldexp(1.0, bits + 1);
  const at::Tensor rounded =
      at::ldexp((mantissa * unit).round() / unit, exponent).to(parts.scalar_type());
  return tensor.is_complex() ? at::view_as_complex(rounded.contiguous()) : rounded;
}

}  // namespace msprobe::strict
