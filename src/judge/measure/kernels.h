// SPDX-License-Identifier: Apache-2.0
// The vector kernels; each must agree with the plain loop of pair.h.
#pragma once

#include <cstddef>

#include "measure/tensor_pair.h"

namespace msprobe::measure {

// As tally_real(). REQUIRES: the device is not of an 8-bit format, whose ULP error needs
// logarithms.
Tally tally_real_in_vectors(const TensorPair& pair, std::size_t first, std::size_t count);

// As tally_integer() and tally_reference_integer(). REQUIRES: both sides have the same dtype.
Tally tally_integer_in_vectors(const TensorPair& pair, std::size_t first, std::size_t count);
Tally tally_reference_integer_in_vectors(const TensorPair& pair, std::size_t first,
                                         std::size_t count);

}  // namespace msprobe::measure
