// SPDX-License-Identifier: Apache-2.0
#include "core/modulus.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace msprobe {

double modulus(double real, double imaginary) {
  if (std::isinf(real) || std::isinf(imaginary)) return std::numeric_limits<double>::infinity();
  if (std::isnan(real) || std::isnan(imaginary)) return std::numeric_limits<double>::quiet_NaN();
  const double large = std::max(std::fabs(real), std::fabs(imaginary));
  const double small = std::min(std::fabs(real), std::fabs(imaginary));
  if (small == 0 || large / small > 0x1p54) return large;

  // Squares and their sum as a number and what rounding took from it; the powers of two are exact.
  const int exponent = std::ilogb(large);
  const double x = std::scalbn(large, -exponent), y = std::scalbn(small, -exponent);
  const double xx = x * x, yy = y * y;
  const double sum = xx + yy;
  const double lost = (xx - sum) + yy + (std::fma(x, x, -xx) + std::fma(y, y, -yy));
  const double root = std::sqrt(sum);
  const double corrected = root + (std::fma(-root, root, sum) + lost) / (2 * root);
  return std::scalbn(corrected, exponent);
}

}  // namespace msprobe
