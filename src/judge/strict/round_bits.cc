// SPDX-License-Identifier: Apache-2.0
#include "strict/round_bits.h"

#include <cstdint>

namespace msprobe::strict {

at::Tensor kept_bits(const at::Tensor& tensor, int bits) {
  const at::Tensor parts = tensor.is_complex() ? at::view_as_real(tensor) : tensor;
  const at::Tensor wide = parts.to(at::kDouble);
  // Half a unit is added to the bits of the number, which then are cut: to nearest even.
  const int dropped = 52 - bits;
  const at::Tensor pattern = wide.contiguous().view(at::kLong);
  const at::Tensor odd = pattern.bitwise_right_shift(dropped).bitwise_and_(1);
  const std::int64_t below_half = (std::int64_t{1} << (dropped - 1)) - 1;
  const at::Tensor kept =
      odd.add_(pattern).add_(below_half).bitwise_and_(-(std::int64_t{1} << dropped));
  const at::Tensor rounded = kept.view(at::kDouble).to(parts.scalar_type());
  return tensor.is_complex() ? at::view_as_complex(rounded.contiguous()) : rounded;
}

}  // namespace msprobe::strict
