// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "measure/tensor_pair.h"
#include "measure/widen.h"

namespace msprobe::measure {
namespace {

bool alike(double device, double bench) {
  return device == bench || (std::isnan(device) && std::isnan(bench));
}

bool alike(const std::complex<double>& device, const std::complex<double>& bench) {
  return alike(device.real(), bench.real()) && alike(device.imag(), bench.imag());
}

template <class Number>
bool all_alike(const TensorPair& pair, std::size_t count) {
  std::array<Number, kBlock> device{};
  std::array<Number, kBlock> bench{};
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t n = std::min(kBlock, count - first);
    widen(pair.device, first, std::span(device).first(n));
    widen(pair.bench, first, std::span(bench).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      if (!alike(device[i], bench[i])) return false;
    }
  }
  return true;
}

}  // namespace

bool is_identical(const TensorPair& pair, const Metrics& metrics) {
  if (metrics.count == 0 || metrics.different == 0) return metrics.count > 0;
  if (metrics.not_finite == 0 || metrics.not_finite_errors > 0) return false;
  const bool complex = is_complex(pair.device.dtype) || is_complex(pair.bench.dtype);
  return complex ? all_alike<std::complex<double>>(pair, metrics.count)
                 : all_alike<double>(pair, metrics.count);
}

}  // namespace msprobe::measure
