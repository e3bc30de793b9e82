// SPDX-License-Identifier: Apache-2.0
#include "strict/element_sizes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "core/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strict/element_sizes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace msprobe::strict::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::ScalableTag<double>;
using Floats = hn::Rebind<float, Doubles>;

// `count` values, zeros behind them.
template <class D>
HWY_INLINE hn::Vec<D> some_of(D d, const hn::TFromD<D>* values, std::size_t count) {
  if (count >= hn::Lanes(d)) return hn::LoadU(d, values);
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())] = {};
  std::copy_n(values, count, lanes);
  return hn::Load(d, lanes);
}

HWY_INLINE void write_some(hn::Vec<Doubles> from, double* values, std::size_t count) {
  const Doubles d;
  if (count >= hn::Lanes(d)) return hn::StoreU(from, d, values);
  HWY_ALIGN double lanes[hn::MaxLanes(Doubles())];
  hn::Store(from, d, lanes);
  std::copy_n(lanes, count, values);
}

template <class D>
HWY_INLINE hn::Vec<D> or_zero(D d, hn::Vec<D> size) {
  const auto most = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::max());
  return hn::IfThenElseZero(hn::Le(size, most), size);
}

template <class T>
T largest_of_numbers(const T* values, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  auto largest = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    largest = hn::Max(largest, or_zero(d, hn::Abs(some_of(d, values + i, count - i))));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

double largest_of_floats(const float* values, std::size_t count) {
  return static_cast<double>(largest_of_numbers(values, count));
}

double largest_of_doubles(const double* values, std::size_t count) {
  return largest_of_numbers(values, count);
}

double largest_of_products(const float* one, const double* other, std::size_t count) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  auto largest = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto left = hn::PromoteTo(d, some_of(Floats(), one + i, count - i));
    const auto right = some_of(d, other + i, count - i);
    largest = hn::Max(largest, or_zero(d, hn::Abs(hn::Mul(left, right))));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

void write_distances(const float* given, const double* right, double nearly_largest, double* errors,
                     std::size_t count) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  const auto infinite = hn::Set(d, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto x = hn::PromoteTo(d, some_of(Floats(), given + i, count - i));
    const auto y = some_of(d, right + i, count - i);
    const auto error = or_zero(d, hn::Abs(hn::Sub(x, y)));
    const auto odd = hn::Not(hn::Eq(hn::Sub(x, x), hn::Zero(d)));  // NaN where x is not finite
    const auto overflows = hn::And(odd, hn::Ge(hn::Abs(y), hn::Set(d, nearly_largest)));
    const auto special = hn::IfThenElse(hn::Eq(x, x), infinite, x);
    write_some(hn::IfThenElse(overflows, special, error), errors + i, count - i);
  }
}

void write_spreads(const double* moved, const double* base, double amplitude, double* spreads,
                   std::size_t count) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto x = some_of(d, moved + i, count - i);
    const auto y = some_of(d, base + i, count - i);
    const auto move = or_zero(d, hn::Div(hn::Abs(hn::Sub(x, y)), hn::Set(d, amplitude)));
    write_some(hn::Max(move, some_of(d, spreads + i, count - i)), spreads + i, count - i);
  }
}

// The largest quotients that were added, in each lane.
class Largest {
 public:
  Largest() {  // written out: a constructor of the compiler would be for another target
    for (auto& kept : kept_) kept = hn::Zero(Doubles());
    nearly_least_ = hn::Zero(Doubles());
  }

  // Few are larger than those before them: only these are divided.
  HWY_INLINE void add(hn::Vec<Doubles> error, hn::Vec<Doubles> limit) {
    const Doubles d;
    const auto larger = hn::Ge(error, hn::Mul(nearly_least_, limit));
    if (hn::AllFalse(d, hn::And(larger, hn::Gt(error, hn::Zero(d))))) return;
    auto value = hn::IfThenElseZero(hn::Gt(error, hn::Zero(d)), hn::Div(error, limit));
    for (auto& kept : kept_) {
      const auto rest = hn::Min(kept, value);
      kept = hn::Max(kept, value);
      value = rest;
    }
    // So much less that rounding a product does not hide one that is larger.
    nearly_least_ = hn::Mul(kept_[kOutliers], hn::Set(d, 1 - 0x1p-50));
  }

  // Of all lanes.
  void write(UsedShares& used) const {
    const Doubles d;
    double all[(kOutliers + 1) * hn::MaxLanes(Doubles())];
    std::size_t count = 0;
    for (const auto& kept : kept_) {
      hn::StoreU(kept, d, all + count);
      count += hn::Lanes(d);
    }
    std::ranges::partial_sort(all, all + kOutliers + 1, all + count, std::greater());
    std::copy_n(all, kOutliers + 1, used.largest.begin());
  }

 private:
  hn::Vec<Doubles> kept_[kOutliers + 1];
  hn::Vec<Doubles> nearly_least_;
};

UsedShares used_with_target(const float* device, const double* bench, std::size_t count,
                            const ElementLimits& limits) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  Largest largest;
  UsedShares used;
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto x = hn::PromoteTo(d, some_of(Floats(), device + i, count - i));
    const auto y = some_of(d, bench + i, count - i);
    auto limit =
        hn::Add(hn::Mul(hn::Abs(y), hn::Set(d, limits.relative)), hn::Set(d, limits.absolute));
    if (limits.spreads != nullptr) {
      const auto spread = some_of(d, limits.spreads + i, count - i);
      limit = hn::Add(limit, hn::Mul(spread, hn::Set(d, limits.spread)));
    }
    const auto error = or_zero(d, hn::Abs(hn::Sub(x, y)));
    used.inexact += static_cast<std::int64_t>(hn::CountTrue(d, hn::Gt(error, hn::Zero(d))));
    largest.add(error, limit);
  }
  largest.write(used);
  return used;
}

}  // namespace
}  // namespace msprobe::strict::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace msprobe::strict {

HWY_EXPORT(largest_of_floats);
HWY_EXPORT(largest_of_doubles);
HWY_EXPORT(largest_of_products);
HWY_EXPORT(write_distances);
HWY_EXPORT(write_spreads);
HWY_EXPORT(used_with_target);

namespace {

// Of float64: numbers below the least normal one are of one size.
constexpr std::size_t kExponents = 2048;

std::size_t exponent_of(double value) { return std::bit_cast<std::uint64_t>(value) << 1 >> 53; }

}  // namespace

double largest_finite(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(largest_of_floats)(values.data(), values.size());
}

double largest_finite(std::span<const double> values) {
  return HWY_DYNAMIC_DISPATCH(largest_of_doubles)(values.data(), values.size());
}

double largest_product(std::span<const float> one, std::span<const double> other) {
  return HWY_DYNAMIC_DISPATCH(largest_of_products)(one.data(), other.data(), one.size());
}

void distances(std::span<const float> given, std::span<const double> right, double nearly_largest,
               std::span<double> errors) {
  HWY_DYNAMIC_DISPATCH(write_distances)
  (given.data(), right.data(), nearly_largest, errors.data(), given.size());
}

void widen_spreads(std::span<const double> moved, std::span<const double> base, double amplitude,
                   std::span<double> spreads) {
  HWY_DYNAMIC_DISPATCH(write_spreads)
  (moved.data(), base.data(), amplitude, spreads.data(), moved.size());
}

void widen_to_usual(std::span<const double> bench, std::span<const double> spreads,
                    std::span<double> usual) {
  struct Size {
    double squares = 0;
    double count = 0;
  };
  // Two of each: neighbours are often of one size, and a sum waits for the one before it.
  std::vector<std::array<Size, 2>> sizes(kExponents);
  for (std::size_t i = 0; i < bench.size(); ++i) {
    Size& size = sizes[exponent_of(bench[i])][i % 2];
    const double square = spreads[i] * spreads[i];
    size.squares += std::isfinite(square) ? square : 0;
    size.count += 1;
  }
  std::vector<double> least(kExponents);
  for (std::size_t i = 0; i < kExponents; ++i) {
    const auto& [one, other] = sizes[i];
    const double count = one.count + other.count;
    least[i] = count == 0 ? 0 : std::sqrt((one.squares + other.squares) / count);
  }
  for (std::size_t i = 0; i < bench.size(); ++i) {
    usual[i] = std::max(spreads[i], least[exponent_of(bench[i])]);
  }
}

void UsedShares::add(const UsedShares& more) {
  inexact += more.inexact;
  std::array<double, 2 * (kOutliers + 1)> all;
  std::ranges::copy(more.largest, std::ranges::copy(largest, all.begin()).out);
  std::ranges::partial_sort(all, all.begin() + kOutliers + 1, std::greater());
  std::copy_n(all.begin(), kOutliers + 1, largest.begin());
}

UsedShares used_shares(std::span<const float> device, std::span<const double> bench,
                       const ElementLimits& limits) {
  return HWY_DYNAMIC_DISPATCH(used_with_target)(device.data(), bench.data(), device.size(), limits);
}

}  // namespace msprobe::strict

#endif  // HWY_ONCE
