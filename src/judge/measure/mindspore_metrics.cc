// SPDX-License-Identifier: Apache-2.0
#include "measure/mindspore_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "measure/widen.h"

namespace msprobe::measure {
namespace {

constexpr double kTiny = 1e-8;  // public tool: keeps the quotients defined
// Squares of elements leave the range of double beyond these; then they are scaled first.
constexpr double kSmallestSquares = 1e-280;
constexpr double kLargestSquares = 1e300;

// A NaN once met stays.
double not_less(double one, double other) { return std::isnan(one) || one > other ? one : other; }

bool is_nan(double value) { return std::isnan(value); }
bool is_nan(const std::complex<double>& value) {
  return std::isnan(value.real()) || std::isnan(value.imag());
}

// Both NaN, or the same infinity: their difference says nothing.
template <class T>
bool same_special(const T& device, const T& bench) {
  if (is_nan(device) && is_nan(bench)) return true;
  return device == bench && !std::isfinite(std::abs(bench));
}

template <class T>
struct Sums {
  T product{};
  double device_scale = 1;  // for the cosine
  double bench_scale = 1;
  double device_squares = 0;
  double bench_squares = 0;
  double device_max = 0;
  double bench_max = 0;
  double max_abs = 0;
  double max_relative = 0;

  void add(const T& device, const T& bench) {
    if (same_special(device, bench)) return;
    const T scaled_device = device * device_scale;
    const T scaled_bench = bench * bench_scale;
    product += scaled_bench * conjugate(scaled_device);
    device_squares += std::norm(scaled_device);
    bench_squares += std::norm(scaled_bench);
    const double error = std::abs(bench - device);
    const double size = std::abs(bench);
    device_max = not_less(device_max, std::abs(device));
    bench_max = not_less(bench_max, size);
    max_abs = not_less(max_abs, error);
    max_relative = not_less(max_relative, error / (size == 0 ? kTiny : size));
  }
  static double conjugate(double value) { return value; }
  static std::complex<double> conjugate(const std::complex<double>& value) {
    return std::conj(value);
  }
};

double size_of(double value) { return value; }
double size_of(const std::complex<double>& value) { return std::abs(value); }

template <class T>
Sums<T> sums_of(const TensorView& device, const TensorView& bench, std::uint64_t count,
                Sums<T> sums) {
  std::array<T, kBlock> of_device;
  std::array<T, kBlock> of_bench;
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t size = std::min<std::size_t>(kBlock, count - first);
    widen(device, first, std::span(of_device.data(), size));
    widen(bench, first, std::span(of_bench.data(), size));
    for (std::size_t i = 0; i < size; ++i) sums.add(of_device[i], of_bench[i]);
  }
  return sums;
}

bool needs_scale(double max, double squares) {
  return max > 0 && std::isfinite(max) && (squares < kSmallestSquares || squares > kLargestSquares);
}

// A power of two that brings `max` near 1.
double scale_for(double max) {
  constexpr int kLargestExponent = 1000;
  return std::ldexp(1.0, std::min(-std::ilogb(max), kLargestExponent));
}

template <class T>
double true_cosine(const TensorView& device, const TensorView& bench, std::uint64_t count,
                   Sums<T> sums) {
  if (sums.device_max == 0 || sums.bench_max == 0) return sums.device_max == sums.bench_max ? 1 : 0;
  if (needs_scale(sums.device_max, sums.device_squares) ||
      needs_scale(sums.bench_max, sums.bench_squares)) {
    Sums<T> scaled;
    if (std::isfinite(sums.device_max)) scaled.device_scale = scale_for(sums.device_max);
    if (std::isfinite(sums.bench_max)) scaled.bench_scale = scale_for(sums.bench_max);
    sums = sums_of(device, bench, count, scaled);
  }
  return size_of(sums.product) / (std::sqrt(sums.bench_squares) * std::sqrt(sums.device_squares));
}

template <class T>
Metrics metrics_of(const TensorView& device, const TensorView& bench, std::uint64_t count,
                   Arithmetic arithmetic) {
  const Sums<T> sums = sums_of(device, bench, count, Sums<T>());
  Metrics metrics;
  metrics.count = count;
  metrics.cosine =
      arithmetic == Arithmetic::kDocumented
          ? true_cosine(device, bench, count, sums)
          : (kTiny + size_of(sums.product)) /
                (kTiny + std::sqrt(sums.bench_squares) * std::sqrt(sums.device_squares));
  metrics.max_abs_error = sums.max_abs;
  metrics.max_relative_error = sums.max_relative;
  return metrics;
}

}  // namespace

Metrics mindspore_metrics(const TensorView& device, const TensorView& bench,
                          Arithmetic arithmetic) {
  const auto count = static_cast<std::uint64_t>(device.numel());
  if (is_complex(device.dtype) || is_complex(bench.dtype)) {
    return metrics_of<std::complex<double>>(device, bench, count, arithmetic);
  }
  Metrics metrics = metrics_of<double>(device, bench, count, arithmetic);
  if (is_integer_or_bool(device.dtype) && is_integer_or_bool(bench.dtype)) {
    metrics.max_abs_error = measure(device, bench, {}).max_abs_error;  // exact beyond 2^53 too
  }
  return metrics;
}

}  // namespace msprobe::measure
