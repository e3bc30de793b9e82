// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/bounded.h"

#include <algorithm>
#include <cmath>

namespace msprobe::execute::npu {
namespace {

bool wanted(const Bounded& a) { return a.slack.defined(); }

// An exact number has a slack of zero, without dimensions.
bool is_zero(const at::Tensor& slack) { return slack.dim() == 0 && slack.item<double>() == 0; }

Bounded with_slack(const at::Tensor& value, const at::Tensor& propagated, double eps) {
  return {value, propagated + value.abs() * eps};
}

}  // namespace

double summed_units(std::int64_t terms) {
  constexpr double kFloat32 = 1.0 / (1 << 24);
  const auto n = static_cast<double>(terms);
  return std::min(n, 16 + 4 * std::sqrt(n)) * kFloat32;
}

Bounded exact(const at::Tensor& tensor, bool bounds) {
  const at::Tensor value = tensor.detach().to(at::kDouble);
  return {value, bounds ? at::zeros({}, value.options()) : at::Tensor()};
}

Bounded loosened(const Bounded& x, double eps) {
  return wanted(x) ? with_slack(x.value, x.slack, eps) : x;
}

Bounded operator+(const Bounded& a, const Bounded& b) {
  const at::Tensor value = a.value + b.value;
  if (!wanted(a)) return {value, {}};
  return with_slack(value, a.slack + b.slack, kOperation);
}

Bounded operator-(const Bounded& a, const Bounded& b) { return a + Bounded{-b.value, b.slack}; }

Bounded operator*(const Bounded& a, const Bounded& b) {
  const at::Tensor value = a.value * b.value;
  if (!wanted(a)) return {value, {}};
  return with_slack(value, a.value.abs() * b.slack + b.value.abs() * a.slack + a.slack * b.slack,
                    kOperation);
}

Bounded operator/(const Bounded& a, const Bounded& b) {
  const at::Tensor value = a.value / b.value;
  if (!wanted(a)) return {value, {}};
  return with_slack(value, (a.slack + value.abs() * b.slack) / b.value.abs(), kOperation);
}

Bounded operator*(const Bounded& a, double factor) {
  const at::Tensor value = a.value * factor;
  if (!wanted(a)) return {value, {}};
  return with_slack(value, a.slack * std::abs(factor), kOperation);
}

Bounded operator+(const Bounded& a, double term) {
  const at::Tensor value = a.value + term;
  if (!wanted(a)) return {value, {}};
  return with_slack(value, a.slack, kOperation);
}

Bounded product(const Bounded& a, const Bounded& b, bool sums_exactly) {
  const at::Tensor value = at::matmul(a.value, b.value);
  if (!wanted(a)) return {value, {}};
  if (sums_exactly && is_zero(a.slack) && is_zero(b.slack)) return {value, a.slack};
  at::Tensor slack = at::zeros({}, value.options());
  if (!sums_exactly) {
    slack = at::matmul(a.value.abs(), b.value.abs()) * summed_units(a.value.size(-1));
  }
  if (!is_zero(a.slack)) {
    slack = slack + at::matmul(a.slack.expand_as(a.value), b.value.abs() + b.slack);
  }
  if (!is_zero(b.slack)) slack = slack + at::matmul(a.value.abs(), b.slack.expand_as(b.value));
  return {value, slack};
}

Bounded largest_size(const Bounded& x, at::IntArrayRef dims) {
  const at::Tensor value = x.value.abs().amax(dims, /*keepdim=*/true);
  if (!wanted(x) || is_zero(x.slack)) return {value, x.slack};
  return {value, x.slack.expand_as(x.value).amax(dims, /*keepdim=*/true)};
}

Bounded clamped(const Bounded& x, double low, double high) {
  return {x.value.clamp(low, high), x.slack};
}

Bounded relu(const Bounded& x) { return {x.value.clamp_min(0), x.slack}; }

Bounded silu(const Bounded& x, double alpha) {
  const at::Tensor value = x.value * (x.value * alpha).sigmoid();
  if (!wanted(x)) return {value, {}};
  // The slope is at most 1.1; an exponential errs with the size of its argument.
  const at::Tensor eps = (x.value.abs().clamp_max(90) * std::abs(alpha) + 4) * kOperation;
  return {value, x.slack * 1.1 + value.abs() * eps};
}

Bounded gelu(const Bounded& x, bool tanh) {
  const at::Tensor value = at::gelu(x.value, tanh ? "tanh" : "none");
  if (!wanted(x)) return {value, {}};
  // Far below zero 1 + erf cancels: the error is one of the factor x.
  return {value, x.slack * 1.13 + (value.abs() * 4 + x.value.abs()) * kOperation};
}

Normed rms_normed(const Bounded& x, std::int64_t over, double epsilon) {
  std::vector<std::int64_t> dims;
  std::int64_t terms = 1;
  for (std::int64_t d = 1; d <= over; ++d) {
    dims.push_back(-d);
    terms *= x.value.size(-d);
  }
  const at::Tensor mean = x.value.square().mean(dims, /*keepdim=*/true) + epsilon;
  Bounded rstd{mean.rsqrt(), {}};
  if (wanted(x)) {
    const at::Tensor moved = (x.value.abs() * x.slack * 2 + x.slack * x.slack)
                                 .expand_as(x.value)
                                 .mean(dims, /*keepdim=*/true);
    const at::Tensor relative = moved / mean * 0.5 + (summed_units(terms) + 2 * kOperation);
    rstd.slack = rstd.value * relative;
  }
  return {x * rstd, rstd};
}

at::Tensor rounded_once(const at::Tensor& value, at::ScalarType type) {
  const bool half = type == at::kHalf || type == at::kBFloat16;
  if (!half || value.scalar_type() != at::kDouble) return value.to(type);
  // Rounded to odd first: towards zero, with the last bit set where something was cut off.
  const at::Tensor near = value.to(at::kFloat);
  const at::Tensor back = near.to(at::kDouble);
  const at::Tensor cut = back.ne(value).logical_and(value.isfinite());
  const at::Tensor away = back.abs().gt(value.abs()).logical_and(value.isfinite());
  const at::Tensor bits = near.view(at::kInt) - away.to(at::kInt);
  return bits.bitwise_or(cut.to(at::kInt)).view(at::kFloat).to(type);
}

}  // namespace msprobe::execute::npu
