// Tensors of both sides as they are compared.
#pragma once

#include "libtorch/dtypes.h"

namespace msprobe::strict {

// In float64, flat; complex numbers as pairs.
inline at::Tensor flat(const at::Tensor& tensor) {
  const at::Tensor plain = libtorch::plain(tensor);
  return (plain.is_complex() ? at::view_as_real(plain) : plain).to(at::kDouble).flatten();
}

}  // namespace msprobe::strict
