// SPDX-License-Identifier: Apache-2.0
// How the arguments of a call lie in memory.
#pragma once

#include <cstdint>

#include "libtorch/aten.h"

namespace msprobe::execute {

// Which operators PyTorch composes a function of can depend on it, and a dump does not tell.
enum class Layout : std::uint8_t {
  kContiguous,
  kColumns,  // the last two dimensions exchanged
  kPlanes,   // the two before the last exchanged
  kParts,    // part of a longer last dimension, as a chunk
};

// The same numbers, laid out so; a tensor of too few dimensions stays as it is.
at::Tensor laid_out(const at::Tensor& tensor, Layout layout);

}  // namespace msprobe::execute
