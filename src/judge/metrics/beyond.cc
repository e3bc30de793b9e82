// SPDX-License-Identifier: Apache-2.0
#include "metrics/beyond.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>

#include "documented/judge.h"
#include "measure/metrics.h"
#include "measure/widen.h"

namespace msprobe::metrics {
namespace {

using Element = std::complex<double>;

bool is_nan(const Element& x) { return std::isnan(x.real()) || std::isnan(x.imag()); }
bool is_finite(const Element& x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }

// How many tolerances the elements are apart; 0: equal.
double distance(const Element& device, const Element& bench, const Tolerance& tolerance) {
  if (device == bench || (is_nan(device) && is_nan(bench))) return 0;
  if (!is_finite(device) || !is_finite(bench)) return std::numeric_limits<double>::infinity();
  const double size = std::abs(bench);
  const double relative = tolerance.relative * size;
  if (tolerance.is_sum) return std::abs(device - bench) / (tolerance.absolute + relative);
  return std::abs(device - bench) / (size > tolerance.small_value ? relative : tolerance.absolute);
}

// A real number keeps its sign.
double shown(const Element& x) { return x.imag() == 0 ? x.real() : std::abs(x); }

TensorView one_element(const TensorView& view, std::size_t index) {
  static constexpr std::array<std::int64_t, 1> kOne = {1};
  const std::size_t size = size_bytes(view.dtype);
  return {view.dtype, kOne, view.bytes.subspan(index * size, size)};
}

// Tells 64-bit integers apart beyond 2^53, too.
bool differ_as_integers(const TensorView& device, const TensorView& bench, std::size_t index) {
  return measure::measure(one_element(device, index), one_element(bench, index), {}).different > 0;
}

}  // namespace

Tolerance tolerance_of(DType device) {
  const measure::Thresholds limits =
      documented::thresholds_for({.dtype = device}, documented::Profile::kDocumented, {});
  return {.relative = limits.rtol,
          .absolute = limits.absolute_small_value_atol,
          .small_value = limits.small_value};
}

Beyond find_beyond(const TensorView& device, const TensorView& bench, const Tolerance& tolerance) {
  Beyond found;
  const bool integers = !tolerance.is_sum && is_integer_or_bool(device.dtype) &&
                        is_integer_or_bool(bench.dtype);  // equal or not
  std::array<Element, measure::kBlock> device_block;
  std::array<Element, measure::kBlock> bench_block;
  const std::size_t count = device.numel();
  for (std::size_t first = 0; first < count; first += measure::kBlock) {
    const std::size_t length = std::min(measure::kBlock, count - first);
    measure::widen(device, first, std::span(device_block).first(length));
    measure::widen(bench, first, std::span(bench_block).first(length));
    for (std::size_t i = 0; i < length; ++i) {
      double over = distance(device_block[i], bench_block[i], tolerance);
      if (integers && over == 0 && differ_as_integers(device, bench, first + i)) over = 1;
      if (!(over > 1 || (integers && over > 0))) continue;
      ++found.count;
      if (found.worst_at >= 0 && !(over > found.over)) continue;
      found.worst_at = static_cast<std::int64_t>(first + i);
      found.over = over;
      found.device = shown(device_block[i]);
      found.bench = shown(bench_block[i]);
      found.error = std::abs(device_block[i] - bench_block[i]);
    }
  }
  if (found.worst_at >= 0) {
    const auto at = static_cast<std::size_t>(found.worst_at);
    found.ulp = measure::measure(one_element(device, at), one_element(bench, at), {}).max_ulp_error;
  }
  return found;
}

}  // namespace msprobe::metrics
