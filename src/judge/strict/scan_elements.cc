// SPDX-License-Identifier: Apache-2.0
#include "strict/scan_elements.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strict/scan_elements.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace msprobe::strict::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::ScalableTag<double>;
using Floats = hn::Rebind<float, Doubles>;
using Vector = hn::Vec<Doubles>;
using Mask = hn::Mask<Doubles>;

constexpr std::size_t kMostLanes = hn::MaxLanes(Doubles());
// So much less that rounding a product does not hide a quotient that is larger.
constexpr double kNearly = 1 - 0x1p-50;

HWY_INLINE Vector all(double value) { return hn::Set(Doubles(), value); }
HWY_INLINE Mask is_finite(Vector v) { return hn::Eq(hn::Sub(v, v), all(0)); }
HWY_INLINE Vector or_zero(Vector size) { return hn::IfThenElseZero(is_finite(size), size); }

// `count` numbers, zeros behind them.
template <class D>
HWY_INLINE hn::Vec<D> some_of(D d, const hn::TFromD<D>* values, std::size_t count) {
  if (count >= hn::Lanes(d)) return hn::LoadU(d, values);
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())] = {};
  std::copy_n(values, count, lanes);
  return hn::Load(d, lanes);
}
HWY_INLINE Vector wide(const float* values, std::size_t count) {
  return hn::PromoteTo(Doubles(), some_of(Floats(), values, count));
}
HWY_INLINE Vector wide(const double* values, std::size_t count) {
  return some_of(Doubles(), values, count);
}

// As unit_of() of float_type.h.
HWY_INLINE Vector unit_of(Vector size, const FloatType& type) {
  const hn::RebindToUnsigned<Doubles> bits;
  const Vector inside = hn::Min(hn::Max(size, all(type.least_normal)), all(type.largest));
  const auto exponent = hn::Set(bits, std::uint64_t{0x7FF0'0000'0000'0000});
  const Vector power = hn::BitCast(Doubles(), hn::And(hn::BitCast(bits, inside), exponent));
  return hn::Mul(all(type.eps), power);
}

// The largest quotients that were added, in each lane.
class Largest {
 public:
  Largest() {  // written out: a constructor of the compiler would be for another target
    for (auto& kept : kept_) kept = all(0);
    nearly_least_ = all(0);
  }

  // Few are larger than those before them: only these are divided.
  HWY_INLINE void add(Mask which, Vector error, Vector limit) {
    const auto larger = hn::And(which, hn::Ge(error, hn::Mul(nearly_least_, limit)));
    if (hn::AllFalse(Doubles(), hn::And(larger, hn::Gt(error, all(0))))) return;
    const auto counts = hn::And(which, hn::Gt(error, all(0)));
    auto value = hn::IfThenElseZero(counts, hn::Div(error, limit));
    for (auto& kept : kept_) {
      const auto rest = hn::Min(kept, value);
      kept = hn::Max(kept, value);
      value = rest;
    }
    nearly_least_ = hn::Mul(kept_[kOutliers], all(kNearly));
  }

  // Together with those of earlier elements.
  void write(std::array<double, kOutliers + 1>& largest) const {
    double every[(kOutliers + 1) * (kMostLanes + 1)];
    std::size_t count = 0;
    for (const auto& kept : kept_) {
      hn::StoreU(kept, Doubles(), every + count);
      count += hn::Lanes(Doubles());
    }
    double* end = std::copy(largest.begin(), largest.end(), every + count);
    std::partial_sort(every, every + kOutliers + 1, end, std::greater());
    std::copy_n(every, kOutliers + 1, largest.begin());
  }

 private:
  Vector kept_[kOutliers + 1];
  Vector nearly_least_;
};

// A vector of elements beside their limits.
struct Compared {
  Vector device, bench, rounded, native, error, limit;
  Mask differs;
};

class Comparison {
 public:
  Comparison(const Elements& elements, std::int64_t first, const Limits& limits,
             const FloatType& type, bool with_shares, Notes& notes)
      : e_(elements),
        first_(first),
        limits_(limits),
        type_(type),
        with_shares_(with_shares),
        notes_(notes),
        found_(notes.found) {}

  void run() {
    const std::size_t lanes = hn::Lanes(Doubles());
    Sums sums;
    for (std::size_t i = 0; i < e_.count; i += lanes) {
      Compared v = compared(i, e_.count - i);
      if (!hn::AllTrue(Doubles(), is_finite(v.error))) {
        HWY_ALIGN double changed[2 * kMostLanes];
        take_specials(v.device, v.bench, v.rounded, v.native, v.error, v.limit, changed);
        v.error = hn::Load(Doubles(), changed);
        v.differs = hn::Ne(hn::Load(Doubles(), changed + kMostLanes), all(0));
      }
      note(v, i, sums);
    }
    found_.count += static_cast<std::int64_t>(e_.count);
    found_.differ += sum_of(sums.differ);
    found_.worst_inside =
        std::max(found_.worst_inside, hn::GetLane(hn::MaxOfLanes(Doubles(), sums.worst)));
    if (!with_shares_) return;
    found_.inexact += sum_of(sums.inexact);
    sums.largest.write(found_.largest);
  }

 private:
  // Lane by lane; `worst` of those inside their limits.
  struct Sums {
    Sums() : differ(all(0)), inexact(all(0)), worst(all(0)) {}

    Vector differ, inexact, worst;
    Largest largest;
  };

  static std::int64_t sum_of(Vector counts) {
    return static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(Doubles(), counts)));
  }

  HWY_INLINE Compared compared(std::size_t i, std::size_t count) const {
    Compared v;
    v.bench = wide(e_.bench + i, count);
    if (e_.floats != nullptr) {
      v.device = wide(e_.floats + i, count);
      v.rounded = e_.rounded != nullptr ? wide(e_.rounded + i, count)
                                        : hn::PromoteTo(Doubles(), hn::DemoteTo(Floats(), v.bench));
    } else {
      v.device = wide(e_.doubles + i, count);
      v.rounded = v.bench;
    }
    v.differs = hn::Ne(v.device, v.rounded);
    const Vector size = e_.sizes != nullptr ? wide(e_.sizes + i, count) : hn::Abs(v.bench);
    v.limit = hn::Add(hn::Mul(all(limits_.relative), size), all(limits_.absolute));
    if (e_.spreads != nullptr) {
      const Vector spread = or_zero(hn::Abs(wide(e_.spreads + i, count)));
      v.limit = hn::Add(v.limit, hn::Mul(all(limits_.spread), spread));
    }
    v.native = all(0);
    if (e_.natives != nullptr) {
      v.native = wide(e_.natives + i, count);
      const Vector native = hn::Mul(all(limits_.native), or_zero(hn::Abs(v.native)));
      v.limit = hn::Add(v.limit, hn::Min(native, all(limits_.native_cap)));
    }
    if (limits_.units > 0) {
      v.limit = hn::Add(v.limit, hn::Mul(all(limits_.units), unit_of(size, type_)));
    }
    v.limit = hn::Max(
        v.limit, hn::Add(hn::Mul(all(limits_.least_relative), size), all(limits_.least_absolute)));
    const Vector away = hn::Sub(v.device, v.bench);
    v.error = hn::Abs(away);
    if (e_.drifts != nullptr) {
      v.error = hn::Min(v.error, hn::Abs(hn::Sub(away, or_zero(wide(e_.drifts + i, count)))));
    }
    return v;
  }

  // What is not finite: equal, excused by the CPU, or farther off than any limit. Writes the
  // errors, and behind them whether the elements differ.
  HWY_NOINLINE void take_specials(Vector devices, Vector benches, Vector rounded_benches,
                                  Vector natives, Vector errors, Vector limits,
                                  double* changed) const {
    HWY_ALIGN double device[kMostLanes], bench[kMostLanes], rounded[kMostLanes], native[kMostLanes],
        limit[kMostLanes];
    const Doubles d;
    hn::Store(devices, d, device);
    hn::Store(benches, d, bench);
    hn::Store(rounded_benches, d, rounded);
    hn::Store(natives, d, native);
    hn::Store(limits, d, limit);
    hn::Store(errors, d, changed);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      const bool equal =
          device[i] == rounded[i] || (std::isnan(device[i]) && std::isnan(rounded[i]));
      changed[kMostLanes + i] = equal ? 0 : 1;
      if (std::isfinite(changed[i])) continue;
      changed[i] = equal || is_excused(device[i], bench[i], native[i])
                       ? 0
                       : special_error(device[i], bench[i], rounded[i], limit[i]);
    }
  }

  static bool is_excused(double device, double bench, double native) {
    if (std::isnan(native)) return !std::isfinite(device);
    return std::isinf(native) && std::isinf(device) && std::signbit(device) == std::signbit(bench);
  }

  // At the end of the number range the error is measured to where the next number would be.
  double special_error(double device, double bench, double rounded, double limit) const {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    if (std::isnan(device) || std::isnan(rounded) || std::isinf(bench)) return kInfinite;
    const bool same_sign = std::signbit(device) == std::signbit(bench);
    return same_sign && std::abs(bench) + limit >= type_.largest ? 0 : kInfinite;
  }

  HWY_INLINE void note(const Compared& v, std::size_t i, Sums& sums) {
    const Doubles d;
    const auto inside = hn::And(hn::Le(v.error, v.limit), is_finite(v.error));
    const auto outside = hn::AndNot(inside, v.differs);
    sums.differ = hn::Add(sums.differ, hn::IfThenElseZero(v.differs, all(1)));
    // Few are worse than all before them: only these are divided.
    const auto exceeds = hn::Gt(v.error, hn::Mul(hn::Mul(sums.worst, all(kNearly)), v.limit));
    const auto worse = hn::And(hn::And(v.differs, inside), exceeds);
    if (!hn::AllFalse(d, worse)) {
      sums.worst = hn::Max(sums.worst, hn::IfThenElseZero(worse, hn::Div(v.error, v.limit)));
    }
    if (with_shares_) {
      const auto inexact = hn::And(hn::Gt(v.error, all(0)), is_finite(v.error));
      sums.inexact = hn::Add(sums.inexact, hn::IfThenElseZero(inexact, all(1)));
      sums.largest.add(inexact, v.error, v.limit);
    }
    if (notes_.over != nullptr || !hn::AllFalse(d, outside)) {
      note_each(v.error, v.limit, hn::IfThenElseZero(v.differs, all(1)),
                hn::IfThenElseZero(outside, all(1)), i);
    }
  }

  HWY_NOINLINE void note_each(Vector errors, Vector limits, Vector differing, Vector outside,
                              std::size_t i) {
    HWY_ALIGN double error[kMostLanes], limit[kMostLanes], differs[kMostLanes], beyond[kMostLanes];
    const Doubles d;
    hn::Store(errors, d, error);
    hn::Store(limits, d, limit);
    hn::Store(differing, d, differs);
    hn::Store(outside, d, beyond);
    const std::size_t count = std::min(hn::Lanes(d), e_.count - i);
    for (std::size_t lane = 0; lane < count; ++lane) {
      if (differs[lane] == 0) continue;
      const std::int64_t place = first_ + static_cast<std::int64_t>(i + lane);
      constexpr double kBeyond = 1 + 0x1p-52;  // a quotient may be rounded to 1
      double over = in_limits(error[lane], limit[lane]);
      if (beyond[lane] != 0) over = std::max(over, kBeyond);
      if (notes_.over != nullptr) notes_.over[place] = over;
      if (beyond[lane] != 0) note_beyond(place, over);
    }
  }

  static double in_limits(double error, double limit) {
    if (error == 0 || std::isinf(error)) return error;
    return limit > 0 ? error / limit : std::numeric_limits<double>::max();
  }

  void note_beyond(std::int64_t place, double over) {
    if (notes_.beyond != nullptr) notes_.beyond->push_back(place);
    if (found_.beyond++ == 0) found_.first = place;
    found_.last = place;
    if (std::isinf(over)) ++found_.not_finite;
    if (over <= found_.worst) return;
    found_.worst = over;
    found_.worst_at = place;
  }

  const Elements& e_;
  std::int64_t first_;
  const Limits& limits_;
  const FloatType& type_;
  bool with_shares_;
  Notes& notes_;
  Scan& found_;
};

void compare(const Elements& elements, std::int64_t first, const Limits& limits,
             const FloatType& type, bool with_shares, Notes& notes) {
  Comparison(elements, first, limits, type, with_shares, notes).run();
}

}  // namespace
}  // namespace msprobe::strict::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace msprobe::strict {

HWY_EXPORT(compare);

void scan_elements(const Elements& elements, std::int64_t first, const Limits& limits,
                   const FloatType& type, bool with_shares, Notes& notes) {
  HWY_DYNAMIC_DISPATCH(compare)(elements, first, limits, type, with_shares, notes);
}

}  // namespace msprobe::strict

#endif  // HWY_ONCE
