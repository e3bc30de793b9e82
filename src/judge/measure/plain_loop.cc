// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <complex>

#include "measure/finite.h"
#include "measure/tensor_pair.h"
#include "measure/widen.h"

namespace msprobe::measure {
namespace {

using Complex = std::complex<double>;

// The quantities of one element that a real and a complex pair share.
struct Element {
  double device;  // |D|
  double bench;   // |B|
  double error;   // E
  bool finite;
};

void add(Tally& tally, const TensorPair& pair, const Element& element) {
  const Thresholds& limits = pair.thresholds;
  const double error = element.error;
  const double relative = error / (element.bench + pair.format.eps);

  tally.count += 1;
  tally.device_abs_max = larger(tally.device_abs_max, element.device);
  tally.bench_abs_max = larger(tally.bench_abs_max, element.bench);
  tally.max_abs_error = larger(tally.max_abs_error, error);
  tally.within_100 += relative < 0.01 ? 1 : 0;
  tally.within_1000 += relative < 0.001 ? 1 : 0;
  tally.within_10000 += relative < 0.0001 ? 1 : 0;

  if (!element.finite) {
    tally.not_finite += 1;
  } else if (element.bench <= limits.small_value) {
    tally.small += 1;
    tally.small_errors += error > limits.small_value_atol ? 1 : 0;
    tally.absolute_small_errors += error > limits.absolute_small_value_atol ? 1 : 0;
  } else {
    tally.normal += 1;
    tally.relative_errors += relative > limits.rtol ? 1 : 0;
    tally.error_squares += error * error;
    tally.relative_errors_sum += relative;
    tally.max_relative_error = larger(tally.max_relative_error, relative);
  }
}

// Whether an element that is not finite behaves otherwise than bench rounded to the device's dtype.
bool not_finite_differs(const PairFormat& format, double device, double bench) {
  const bool bench_nan = std::isnan(bench) || std::abs(bench) > format.nan_above;
  const bool bench_infinite = !bench_nan && std::abs(bench) >= format.infinite_from;
  if (std::isnan(device) != bench_nan || std::isinf(device) != bench_infinite) return true;
  return bench_infinite && std::signbit(device) != std::signbit(bench);
}

// Dividing by a power of two is exact.
double ulp_error(const PairFormat& format, double device, double bench) {
  if (!std::isfinite(bench)) return kNaN;
  if (format.ulp == UlpKind::kFloat8) return std::abs(float8_ulp_error(device, bench));
  const double unit = std::ldexp(std::max(power_of_two_below(bench), format.ulp_smallest_normal),
                                 -format.ulp_mantissa_bits);
  return std::abs(device - bench) / unit;
}

void add(Tally& tally, const TensorPair& pair, double device, double bench) {
  const PairFormat& format = pair.format;
  const double cast = round_to(format.device, bench);
  const bool finite = std::isfinite(device) && std::isfinite(cast);
  add(tally, pair, {std::abs(device), std::abs(bench), std::abs(device - bench), finite});
  tally.balance += (device > cast ? 1 : 0) - (device < cast ? 1 : 0);
  tally.different += device != bench ? 1 : 0;
  if (!finite) tally.not_finite_errors += not_finite_differs(format, device, bench) ? 1 : 0;
  if (format.ulp != UlpKind::kNone) {
    const double ulp = ulp_error(format, device, bench);
    tally.max_ulp_error = larger(tally.max_ulp_error, ulp);
    tally.ulp_errors_sum += ulp;
    tally.ulp_errors += ulp > pair.thresholds.ulp_count ? 1 : 0;
  }
}

void add(Tally& tally, const TensorPair& pair, const Complex& device, const Complex& bench) {
  const PairFormat& format = pair.format;
  const Complex cast(round_to(format.device, bench.real()), round_to(format.device, bench.imag()));
  const bool finite = is_finite(device) && is_finite(cast);
  add(tally, pair, {std::abs(device), std::abs(bench), std::abs(device - bench), finite});
  tally.different += device != bench ? 1 : 0;
  if (!finite) {
    const bool differs = not_finite_differs(format, device.real(), bench.real()) ||
                         not_finite_differs(format, device.imag(), bench.imag());
    tally.not_finite_errors += differs ? 1 : 0;
  }
}

void add(CosineSums& sums, double device, double bench) {
  sums.dot += device * bench;
  sums.device_squares += device * device;
  sums.bench_squares += bench * bench;
}

void add(CosineSums& sums, const Complex& device, const Complex& bench) {
  sums.dot += device.real() * bench.real() + device.imag() * bench.imag();
  sums.dot_imaginary += device.imag() * bench.real() - device.real() * bench.imag();
  sums.device_squares += std::norm(device);
  sums.bench_squares += std::norm(bench);
}

// Calls visit(device, bench) for each element of the part, widened to T, in index order.
template <class T, class Visit>
void for_each_element(const TensorPair& pair, std::size_t first, std::size_t count, Visit visit) {
  std::array<T, kBlock> device;
  std::array<T, kBlock> bench;
  for (std::size_t done = 0; done < count; done += kBlock) {
    const std::size_t n = std::min(kBlock, count - done);
    widen(pair.device, first + done, std::span(device).first(n));
    widen(pair.bench, first + done, std::span(bench).first(n));
    for (std::size_t i = 0; i < n; ++i) visit(device[i], bench[i]);
  }
}

template <class T>
Tally tally_elements(const TensorPair& pair, std::size_t first, std::size_t count) {
  Tally tally;
  for_each_element<T>(pair, first, count, [&](const T& device, const T& bench) {
    add(tally, pair, device, bench);
    add(tally.products, device, bench);
  });
  return tally;
}

template <class T>
CosineSums scaled_products_of(const TensorPair& pair, double device_scale, double bench_scale,
                              std::size_t first, std::size_t count) {
  CosineSums sums;
  for_each_element<T>(pair, first, count, [&](const T& device, const T& bench) {
    add(sums, device / device_scale, bench / bench_scale);
  });
  return sums;
}

}  // namespace

Tally tally_real(const TensorPair& pair, std::size_t first, std::size_t count) {
  return tally_elements<double>(pair, first, count);
}

Tally tally_complex(const TensorPair& pair, std::size_t first, std::size_t count) {
  return tally_elements<Complex>(pair, first, count);
}

CosineSums scaled_products(const TensorPair& pair, double device_scale, double bench_scale,
                           std::size_t first, std::size_t count) {
  const bool complex_pair = is_complex(pair.device.dtype) || is_complex(pair.bench.dtype);
  return complex_pair ? scaled_products_of<Complex>(pair, device_scale, bench_scale, first, count)
                      : scaled_products_of<double>(pair, device_scale, bench_scale, first, count);
}

}  // namespace msprobe::measure
