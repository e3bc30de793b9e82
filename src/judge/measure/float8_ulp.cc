// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "measure/tensor_pair.h"

namespace msprobe::measure {
namespace {

// Below this the formats have no further binades.
constexpr double kLowestExponent = -22;

double bounded_log2(double value) {
  return std::max(std::log2(std::abs(value) + 0x1p-1000), kLowestExponent);
}

double signed_log2(double value) {
  if (value == 0) return 0;
  return std::copysign(1.0, value) * bounded_log2(value);
}

int mantissa_bits(double exponent) {
  const double distance = std::abs(exponent);
  if (distance <= 3) return 3;
  if (distance <= 7) return 2;
  return distance <= 15 ? 1 : 0;
}

}  // namespace

double float8_ulp_error(double device, double bench) {
  const double exponent = std::floor(bounded_log2(bench));
  const int bits = mantissa_bits(exponent);
  if (bits == 0) return signed_log2(device) - signed_log2(bench);
  return (device - bench) * std::exp2(bits - exponent);
}

}  // namespace msprobe::measure
