// SPDX-License-Identifier: Apache-2.0
// Right values in double precision, and how far a right device may be from each of them. Formulas
// over these give the benchmark of an operator and its bound at once.
#pragma once

#include <cstdint>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

struct Bounded {
  at::Tensor value;  // float64
  at::Tensor slack;  // float64, broadcasts over `value`; undefined where no bound is wanted
};

// A few units of float32: what one operation of a fused kernel, or an approximation in it, may err.
constexpr double kOperation = 1.0 / (1 << 22);

// How far a sum of products in float32 may be from the exact one, relative to the sum of their
// sizes. Errors of the summands partly cancel: far less than one unit for each of many.
double summed_units(std::int64_t terms);

Bounded exact(const at::Tensor& tensor, bool bounds);

// As if `x` had passed through a number of relative precision `eps`.
Bounded loosened(const Bounded& x, double eps);

Bounded operator+(const Bounded& a, const Bounded& b);
Bounded operator-(const Bounded& a, const Bounded& b);
Bounded operator*(const Bounded& a, const Bounded& b);
Bounded operator/(const Bounded& a, const Bounded& b);
Bounded operator*(const Bounded& a, double factor);
Bounded operator+(const Bounded& a, double term);

// The same view of value and slack.
template <class View>
Bounded viewed(const Bounded& x, const View& view) {
  const at::Tensor slack =
      x.slack.defined() && x.slack.dim() > 0 ? view(x.slack.expand_as(x.value)) : x.slack;
  return {view(x.value), slack};
}

// A product of matrices that sums in float32; exact where `sums_exactly`, as of integers.
Bounded product(const Bounded& a, const Bounded& b, bool sums_exactly);

Bounded largest_size(const Bounded& x, at::IntArrayRef dims);  // of |x|, dimensions kept
Bounded clamped(const Bounded& x, double low, double high);
Bounded relu(const Bounded& x);
Bounded silu(const Bounded& x, double alpha = 1);  // x sigmoid(alpha x)
Bounded gelu(const Bounded& x, bool tanh);

// x / sqrt(mean(x^2) + epsilon) over the last dimensions, `over` of them, and that factor.
struct Normed {
  Bounded y, rstd;
};
Normed rms_normed(const Bounded& x, std::int64_t over, double epsilon);

// `value` in `type`, rounded once: PyTorch's own casts from float64 to the half types round to
// float32 first, and so twice.
at::Tensor rounded_once(const at::Tensor& value, at::ScalarType type);

}  // namespace msprobe::execute::npu
