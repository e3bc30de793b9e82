#include "strict/bound.h"

#include <cmath>

namespace msprobe::strict {

Limits rounding_limits(const FloatType& type) {
  return {.relative = kResultEps * type.eps, .absolute = kResultEps * type.smallest};
}

Limits spread_limits(const FloatType& type, double length, const at::Tensor& spreads) {
  const double accumulated = std::sqrt(length) * type.accumulator_eps;
  Limits limits = rounding_limits(type);
  limits.relative += kSumOfResult * accumulated / 2;
  limits.spread = kIntermediates + kSumOfTerms * accumulated / type.eps;
  limits.spreads = spreads;
  return limits;
}

}  // namespace msprobe::strict
