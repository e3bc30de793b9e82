// SPDX-License-Identifier: Apache-2.0
// How a device adds the terms of a matrix product, found by one small product on it.
#pragma once

#include <cstdint>
#include <functional>

#include "libtorch/aten.h"

namespace msprobe::probe {

enum class DeviceSums : std::uint8_t {
  kUnknown,
  kRounded,  // to nearest: errors of both signs, whose sum grows as the root of the terms
  kCut,      // what does not fit is cut off: sums drift, by as much with every term
};

// Multiplies two matrices of 4096 terms on the device, in float32. The factors have 10 bits, so
// that a device which rounds them to TF32 changes nothing. kUnknown where the device cannot.
DeviceSums probe_sums(at::Device device);

// probe_sums, done when it is first asked for.
std::function<DeviceSums()> lazy_sums(at::Device device);

// How far `found` has drifted from the exact result of sums that grow evenly from 0 to it: in
// 2^-23 of the power of two below the running sum, per term, toward +infinity; the median over the
// elements. REQUIRES: float64, not empty, no zeros.
double drift_of(const at::Tensor& found, const at::Tensor& exact, std::int64_t terms);

}  // namespace msprobe::probe
