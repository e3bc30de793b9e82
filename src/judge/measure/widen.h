// SPDX-License-Identifier: Apache-2.0
// Any real element as a double, a block at a time: what the plain loops and the uncommon pairs work
// on.
#pragma once

#include <complex>
#include <cstdint>
#include <span>

#include "core/tensor.h"

namespace msprobe::measure {

// Elements at a time: both blocks of a pair stay in the first-level cache.
inline constexpr std::size_t kBlock = 512;

// Elements first .. first + out.size() - 1 of `view`, which may start at any address. Exact, except
// that 64-bit integers beyond 2^53 are rounded. A bool is 0 or 1. REQUIRES: not complex.
void widen(const TensorView& view, std::size_t first, std::span<double> out);

// A real element has the imaginary part 0.
void widen(const TensorView& view, std::size_t first, std::span<std::complex<double>> out);

// REQUIRES: an integer or bool. uint64 keeps its bits.
void widen(const TensorView& view, std::size_t first, std::span<std::int64_t> out);

}  // namespace msprobe::measure
