// SPDX-License-Identifier: Apache-2.0
// Numbers kept to fewer bits, as devices take them in.
// To nearest, ties to even, as a unit may. The benchmark of a check with --hf32 rounds ties away
// from zero instead (arguments/hf32.h), because the documents say so.
#pragma once

#include "libtorch/aten.h"

namespace msprobe::strict {

// Floating or complex numbers with `bits` bits of mantissa behind the leading one, to nearest; the
// dtype stays.
at::Tensor kept_bits(const at::Tensor& tensor, int bits);

}  // namespace msprobe::strict
