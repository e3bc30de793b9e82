// SPDX-License-Identifier: Apache-2.0
#include "strict/bound_reference.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace msprobe::strict::reference {
namespace {

constexpr double kFloatUnit = 0x1p-23;       // of a float32 sum, in units of the power of two below
constexpr double kFloatSmallest = 0x1p-149;  // the smallest positive float32
constexpr double kTf32 = 8192;               // 2^(23-10): how much farther TF32 moves an input
constexpr std::size_t kPlaces = 16;

bool is_of_16_bits(const FloatType& type) { return type.eps > kFloatUnit; }

// The distance from r(b) to the next number.
double unit(const FloatType& type, double b) {
  const double size = std::min(std::abs(b), type.largest);
  if (size < type.least_normal) return type.smallest;
  return type.eps * std::exp2(std::floor(std::log2(size)));
}

// r(b): to nearest, ties to even.
double rounded(const FloatType& type, double b) {
  const double one = unit(type, b);
  const double nearest = std::nearbyint(b / one) * one;
  return std::abs(nearest) > type.largest ? std::copysign(HUGE_VAL, b) : nearest;
}

double or_zero(double value) { return std::isfinite(value) ? value : 0; }

double root_n_eps_a(const Result& result, double n) {
  return std::sqrt(n) * result.type.accumulator_eps;
}

double added_terms(const Product& product) {
  return static_cast<double>(product.terms) * product.filled;
}

// Step 5: s is at least the root mean square over the elements of about the same size.
std::vector<double> usual_spreads(const Result& result) {
  struct Group {
    double squares = 0;
    double count = 0;
  };
  const auto size_of = [](double b) { return b == 0 ? -2000 : std::max(std::ilogb(b), -1023); };
  std::map<int, Group> groups;
  for (std::size_t i = 0; i < result.bench.size(); ++i) {
    Group& group = groups[size_of(result.bench[i])];
    group.squares += or_zero(result.spread[i] * result.spread[i]);
    group.count += 1;
  }
  std::vector<double> spreads = result.spread;
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    const Group& group = groups[size_of(result.bench[i])];
    spreads[i] = std::max(or_zero(spreads[i]), std::sqrt(group.squares / group.count));
  }
  return spreads;
}

}  // namespace

Sums sums_of(const Product& product, std::size_t element) {
  const std::size_t row = element / product.columns;  // counted over all matrices
  const std::size_t column = element % product.columns;
  const std::size_t matrix = row / product.rows;
  const double* left = product.left.data() + row * product.terms;
  const double* right = product.right.data() + matrix * product.terms * product.columns + column;
  Sums sums;
  double squares = 0;
  std::vector<double> partial(kPlaces + 1, 0);
  for (std::size_t k = 0, place = 1; k < product.terms; ++k) {
    const double term = left[k] * right[k * product.columns];
    sums.s += term;
    squares += term * term;
    for (; place <= kPlaces && k + 1 == product.terms * place / kPlaces; ++place) {
      partial[place] = sums.s;
    }
  }
  sums.n = std::sqrt(squares);
  for (std::size_t place = 1; place <= kPlaces; ++place) {
    const std::size_t end = product.terms * place / kPlaces;
    if (end == product.terms * (place - 1) / kPlaces) continue;
    const double line = sums.s * static_cast<double>(end) / static_cast<double>(product.terms);
    sums.w = std::max(sums.w, std::abs(partial[place] - line));
  }
  return sums;
}

double mean_power(double sum) {
  const double size = std::abs(sum);
  if (!(size >= 0x1p-1022) || !std::isfinite(size)) return 0;
  const double power = std::exp2(std::floor(std::log2(size)));
  return power - 2.0 / 3 * power * power / size;
}

double few_roundings(const FloatType& type, double b, bool one_product) {
  if (is_of_16_bits(type)) return (one_product ? 1 : 2) * unit(type, b);
  return 4 * type.eps * std::abs(b) + 4 * type.smallest;
}

double rounded_product(const Result& result, double b, const Sums& sums, double added) {
  const double n = added_terms(*result.product);
  const double root_n_u = root_n_eps_a(result, n) / 2;
  double bound = few_roundings(result.type, b, true);
  bound += root_n_u * (2 * std::abs(sums.s) + 4 * sums.n + 4 * sums.w);
  bound += result.type.eps * std::abs(added) + n * kFloatSmallest;
  if (result.tf32) bound += 0x1p-8 * sums.n + 0x1p-10 * std::abs(sums.s);
  return bound;
}

double drift_of_product(const Result& result, const Sums& sums) {
  const double n = added_terms(*result.product);
  // k <= 2: the drift itself, k n 2^-23 P, and around it 2 k n 2^-23 of N or W.
  return n * kFloatUnit * (2 * std::abs(mean_power(sums.s)) + 4 * std::max(sums.n, sums.w));
}

double conditioned(const Result& result, double b, double s) {
  const FloatType& type = result.type;
  const double root_n = root_n_eps_a(result, result.n);
  double bound = (4 * type.eps + root_n) * std::abs(b) + 4 * type.smallest;
  bound += result.n * kFloatSmallest;
  bound += (4 + 4 * root_n / type.eps + (result.tf32 ? 8 * kTf32 : 0)) * s;
  return bound + result.kernel_relative * std::abs(b) + result.kernel_absolute + result.single;
}

double conditioned_once(const Result& result, double b, double s) {
  const FloatType& type = result.type;
  const double root_n = root_n_eps_a(result, result.n);
  double bound = few_roundings(type, b, false) + (4 * type.accumulator_eps + root_n) * std::abs(b);
  bound += result.n * kFloatSmallest;
  bound += 2 * (4 * type.accumulator_eps + 4 * root_n) / type.eps * s;
  return bound + result.kernel_relative * std::abs(b) + result.kernel_absolute + result.single;
}

double drift_inside(const Result& result, double b, double s) {
  const double drift = result.longest_sum * kFloatUnit;
  return 2 * 0.375 * drift * std::abs(b) + 2 * drift * s / (0.4 * result.type.eps / 2);
}

double of_native(double e, double cap) { return std::isfinite(e) ? std::min(4 * e, cap) : 0; }

std::vector<double> bounds(const Result& result) {
  const std::size_t count = result.bench.size();
  std::vector<double> all(count, 0);
  if (result.exact) return all;
  const bool one_product = result.product.has_value();
  const bool goes_on = !one_product || !result.product->one_way;
  const std::vector<double> spread =
      result.spread.empty() ? std::vector<double>(count, 0) : usual_spreads(result);
  for (std::size_t i = 0; i < count; ++i) {
    const double b = or_zero(result.bench[i]);
    const double native =
        result.native_error.empty() ? 0 : of_native(result.native_error[i], result.native_cap);
    double bound = few_roundings(result.type, b, one_product) +
                   result.kernel_relative * std::abs(b) + result.kernel_absolute;
    if (one_product) {
      const double added = result.product->added.empty() ? 0 : result.product->added[i];
      const Sums sums = sums_of(*result.product, i);
      const double rounded = rounded_product(result, b, sums, added);
      const bool of_cpu = !is_of_16_bits(result.type) || !result.rounds_once;
      bound = rounded + (of_cpu ? native : 0);
      if (result.may_drift) bound = std::max(bound, rounded + drift_of_product(result, sums));
    }
    if (goes_on) {
      double most = conditioned(result, b, spread[i]);
      if (result.rounds_once) most = std::max(most, conditioned_once(result, b, spread[i]));
      const double drift = drift_inside(result, b, spread[i]);
      const bool drifts = result.may_drift && (result.made_of_products || one_product);
      bound = std::max(bound, most + std::max(native, drifts ? drift : 0));
    }
    all[i] = bound;
  }
  return all;
}

bool allows(const FloatType& type, double d, double b, double bound, double e, double times) {
  if (std::isnan(d)) return std::isnan(b) || std::isnan(e);
  if (std::isnan(b)) return false;
  const double right = std::isfinite(b) ? rounded(type, b) : b;
  if (d == right) return true;
  if (std::isinf(b)) return false;
  if (std::isfinite(d)) return std::abs(d - b) <= times * bound;
  if (std::isnan(e)) return true;
  const bool same_sign = std::signbit(d) == std::signbit(b);
  return same_sign && (std::isinf(e) || std::abs(b) + times * bound >= type.largest);
}

}  // namespace msprobe::strict::reference
