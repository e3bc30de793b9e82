// SPDX-License-Identifier: Apache-2.0
// Runs one small product on a device to find how it adds the terms.
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

// Multiplies two matrices on the device in `type`: a device may have a matrix unit for half types
// alone. kUnknown where the device cannot. REQUIRES: float32, float16 or bfloat16.
DeviceSums probe_sums(at::Device device, at::ScalarType type);

// probe_sums, done once for each type when it is first asked for.
using AskSums = std::function<DeviceSums(at::ScalarType)>;
AskSums lazy_sums(at::Device device);

// The product that probe_sums asks for: 16,384 terms of one sign that do not fit into float32
// together, and then terms that take their sum back. The result is the accumulated truncation
// error, which even a narrow dtype can hold. Every factor has at most 8 bits: neither bfloat16 nor
// TF32 changes one.
struct Question {
  at::Tensor left, right;  // in float64
  at::Tensor sums;         // before they are taken back; the second half of the rows is negative
  at::Tensor rest;         // the exact result
  std::int64_t terms = 0;  // of `sums`
};
Question question();

// How far the sums drifted for which the device gave `answer`: in 2^-23 of the power of two below
// the running sum, per term.
struct Drift {
  double usual = 0;    // median over the elements, of the sign for which it is larger
  double largest = 0;  // of all elements
};
Drift drift_of(const Question& question, const at::Tensor& answer);

}  // namespace msprobe::probe
