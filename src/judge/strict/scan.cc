// SPDX-License-Identifier: Apache-2.0
#include "strict/scan.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/modulus.h"
#include "libtorch/autograd.h"
#include "strict/float_scan.h"
#include "strict/float_type.h"

namespace msprobe::strict {

void Limits::add(Of of, double coefficient, std::string_view formula) {
  terms.push_back({formula, of, coefficient});
  double* const sums[] = {&relative, &units, &absolute, &spread, &native};
  if (of != Of::kSizes) *sums[static_cast<std::size_t>(of)] += coefficient;
}

void Limits::lower(double share) {
  for (double* const sum : {&relative, &units, &absolute, &spread}) *sum *= share;
  for (Term& term : terms) term.coefficient *= share;
}

FloatLimits float_limits(const Limits& limits, const FloatType& type) {
  return {limits.relative,   limits.absolute,   limits.spread,         limits.native,
          limits.native_cap, limits.units,      limits.least_relative, limits.least_absolute,
          type.eps,          type.least_normal, type.largest};
}

namespace {

// Small enough for the second-level cache with all its companions in double.
constexpr std::int64_t kSlice = std::int64_t{1} << 15;
// So many elements are looked at at once, and then fewer, before they are marked one by one.
constexpr std::int64_t kMarked[] = {256, 32, 4, 1};

// One slice of everything, in double; complex numbers are pairs.
struct Slice {
  at::Tensor device, bench, rounded, spreads, natives, drifts;

  static const double* data(const at::Tensor& tensor) {
    return tensor.defined() ? tensor.data_ptr<double>() : nullptr;
  }
};

at::Tensor parts(const at::Tensor& tensor) {
  return tensor.is_complex() ? at::view_as_real(tensor) : tensor;
}

at::Tensor widened(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(at::kDouble).contiguous() : tensor;
}

// A tensor that fits is taken as it is: most are small, and every call of LibTorch counts.
at::Tensor piece_of(const at::Tensor& tensor, std::int64_t start, std::int64_t length) {
  if (!tensor.defined() || tensor.numel() <= kSlice) return tensor;
  return tensor.flatten().narrow(0, start, length);
}

double or_zero(const double* values, std::int64_t i) {
  return values != nullptr && std::isfinite(values[i]) ? values[i] : 0;
}

// Sizes of element i: of a complex number, the modulus stands for both of its parts.
template <bool kComplex>
double size_of(const double* values, std::int64_t i) {
  if constexpr (kComplex) return modulus(or_zero(values, i & ~1), or_zero(values, i | 1));
  return std::abs(values == nullptr ? 0.0 : values[i]);
}

template <bool kComplex>
bool is_finite(const double* values, std::int64_t i) {
  if constexpr (kComplex) return std::isfinite(values[i & ~1]) && std::isfinite(values[i | 1]);
  return std::isfinite(values[i]);
}

// What is written down of each element, where it is asked for.
struct Marks {
  bool* beyond = nullptr;
  double* over = nullptr;
};

class Pass {
 public:
  Pass(const Limits& limits, const FloatType& type, const Marks& marks)
      : limits_(limits), type_(type), marks_(marks) {}

  template <bool kComplex>
  void run(const Slice& slice, std::int64_t start, std::int64_t length) {
    const double* device = Slice::data(slice.device);
    const double* bench = Slice::data(slice.bench);
    const double* rounded = Slice::data(slice.rounded);
    const double* spreads = Slice::data(slice.spreads);
    const double* natives = Slice::data(slice.natives);
    const double* drifts = Slice::data(slice.drifts);
    for (std::int64_t i = 0; i < length; ++i) {
      if (device[i] == rounded[i] || (std::isnan(device[i]) && std::isnan(rounded[i]))) continue;
      if (kComplex && !is_finite<kComplex>(device, i) && !is_finite<kComplex>(rounded, i)) continue;
      ++scan_.differ;
      if (natives != nullptr && is_excused(device[i], bench[i], natives[i])) continue;
      const double spread = spreads == nullptr ? 0 : finite(size_of<kComplex>(spreads, i));
      const double native = natives == nullptr ? 0 : finite(size_of<kComplex>(natives, i));
      const double size = size_of<kComplex>(bench, i);
      double limit = limits_.relative * size + limits_.absolute + limits_.spread * spread +
                     std::min(limits_.native * native, limits_.native_cap);
      if (limits_.units > 0) limit += limits_.units * unit_of(size, type_);
      limit = std::max(limit, limits_.least_relative * size + limits_.least_absolute);
      double off = error(device[i], bench[i], rounded[i], limit);
      if (drifts != nullptr) off = std::min(off, std::abs(device[i] - bench[i] - drifts[i]));
      note(start + i, off, limit);
    }
  }
  Scan& result() { return scan_; }

 private:
  static double finite(double value) { return std::isfinite(value) ? value : 0; }

  static bool is_excused(double device, double bench, double native) {
    if (std::isnan(native)) return !std::isfinite(device);
    return std::isinf(native) && std::isinf(device) && std::signbit(device) == std::signbit(bench);
  }

  // At the end of the number range the error is measured to where the next number would be.
  double error(double device, double bench, double rounded, double limit) const {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    if (std::isfinite(device) && std::isfinite(bench)) return std::abs(device - bench);
    if (std::isnan(device) || std::isnan(rounded) || std::isinf(bench)) return kInfinite;
    const bool same_sign = std::signbit(device) == std::signbit(bench);
    return same_sign && std::abs(bench) + limit >= type_.largest ? 0 : kInfinite;
  }

  static double in_limits(double error, double limit) {
    return limit > 0 ? error / limit : std::numeric_limits<double>::max();
  }

  void note(std::int64_t at, double error, double limit) {
    if (marks_.over != nullptr) {
      marks_.over[at] = error == 0 || std::isinf(error) ? error : in_limits(error, limit);
    }
    if (std::isfinite(error) && error <= limit) {
      if (limit > 0) scan_.worst_inside = std::max(scan_.worst_inside, error / limit);
      return;
    }
    if (marks_.beyond != nullptr) marks_.beyond[at] = true;
    if (scan_.beyond++ == 0) scan_.first = at;
    scan_.last = at;
    if (std::isinf(error)) ++scan_.not_finite;
    const double excess = in_limits(error, limit);
    if (excess > scan_.worst) {
      scan_.worst = excess;
      scan_.worst_at = at;
    }
  }

  const Limits& limits_;
  const FloatType& type_;
  Marks marks_;
  Scan scan_;
};

void add_to(Scan& sum, const FloatScan& found) {
  sum.differ += found.differ;
  sum.beyond += found.beyond;
  sum.worst = std::max(sum.worst, found.worst);
  sum.worst_inside = std::max(sum.worst_inside, found.worst_inside);
}

// Whether scan_floats knows such limits.
bool is_known(const Limits& limits) {
  const auto fits = [](const at::Tensor& tensor) {
    return !tensor.defined() || (tensor.scalar_type() == at::kDouble && tensor.is_contiguous());
  };
  const bool drifts_fit =
      !limits.drifts.defined() || (limits.spreads.defined() && !limits.natives.defined());
  return drifts_fit && fits(limits.drifts) && fits(limits.spreads) && fits(limits.natives);
}

// Float32 against float64, all of it contiguous, with limits that scan_floats knows.
class FloatPair {
 public:
  FloatPair(const at::Tensor& device, const at::Tensor& bench, const Limits& limits)
      : limits_(float_limits(limits, {})) {
    const auto fits = [](const at::Tensor& tensor, at::ScalarType type) {
      return tensor.scalar_type() == type && tensor.is_contiguous();
    };
    if (limits.units > 0 || !is_known(limits) || !fits(device, at::kFloat) ||
        !fits(bench, at::kDouble)) {
      return;
    }
    device_ = device.data_ptr<float>();
    bench_ = Slice::data(bench);
    spreads_ = Slice::data(limits.spreads);
    natives_ = Slice::data(limits.natives);
    drifts_ = Slice::data(limits.drifts);
  }

  // False: Pass has to look at this slice.
  bool scan(std::int64_t start, std::int64_t length, Scan& sum) const {
    if (device_ == nullptr) return false;
    const auto from = [&](const double* values) {
      return values == nullptr ? nullptr : values + start;
    };
    const FloatScan found =
        scan_floats({device_ + start, nullptr, bench_ + start, from(spreads_), from(natives_),
                     from(drifts_), static_cast<std::size_t>(length)},
                    limits_);
    if (found.finite) add_to(sum, found);
    return found.finite;
  }

  // Lists the elements beyond their limits. False: Pass has to look at all of them.
  bool list(std::int64_t length, std::vector<std::int64_t>& places) const {
    return list(0, length, places, kMarked);
  }

 private:
  // `count`: of the elements that are looked at at once; behind it are the counts for those of them
  // among which one is beyond.
  bool list(std::int64_t start, std::int64_t end, std::vector<std::int64_t>& places,
            const std::int64_t* count) const {
    for (; start < end; start += *count) {
      const std::int64_t stop = std::min(start + *count, end);
      Scan found;
      if (!scan(start, stop - start, found)) return false;
      if (found.good()) continue;
      if (*count == 1) places.push_back(start);
      if (*count > 1 && !list(start, stop, places, count + 1)) return false;
    }
    return true;
  }

  FloatLimits limits_;
  const float* device_ = nullptr;
  const double* bench_ = nullptr;
  const double* spreads_ = nullptr;
  const double* natives_ = nullptr;
  const double* drifts_ = nullptr;
};

// The same of a half type, whose numbers float32 holds, with limits in its units. False: Pass has
// to look at this slice.
bool scan_halves(const at::Tensor& device, const at::Tensor& rounded, const Slice& slice,
                 const FloatLimits& limits, Scan& sum) {
  const at::Tensor wide_device = device.to(at::kFloat).contiguous();
  const at::Tensor wide_rounded = rounded.to(at::kFloat).contiguous();
  const FloatScan found =
      scan_floats({wide_device.data_ptr<float>(), wide_rounded.data_ptr<float>(),
                   Slice::data(slice.bench), Slice::data(slice.spreads), Slice::data(slice.natives),
                   Slice::data(slice.drifts), static_cast<std::size_t>(device.numel())},
                  limits);
  if (found.finite) add_to(sum, found);
  return found.finite;
}

Scan walk(const at::Tensor& device, const at::Tensor& bench, const Limits& limits,
          const Marks& marks, const FloatPair* floats = nullptr) {
  const libtorch::BelowAutograd below;
  const FloatType type = *float_type(device.scalar_type());
  const bool complex = device.is_complex();
  const at::Tensor d = parts(device);
  const at::Tensor b = parts(bench);
  const at::Tensor s = limits.spreads.defined() ? parts(limits.spreads) : at::Tensor();
  const at::Tensor n = limits.natives.defined() ? parts(limits.natives) : at::Tensor();
  const at::Tensor drifts = limits.drifts;
  const bool is_half = d.scalar_type() == at::kHalf || d.scalar_type() == at::kBFloat16;
  const bool halves = floats != nullptr && is_half && !complex && is_known(limits);
  Pass pass(limits, type, marks);
  for (std::int64_t start = 0; start < d.numel(); start += kSlice) {
    const std::int64_t length = std::min(kSlice, d.numel() - start);
    if (floats != nullptr && floats->scan(start, length, pass.result())) continue;
    const at::Tensor piece = piece_of(d, start, length);
    const at::Tensor bench_piece = piece_of(b, start, length);
    const at::Tensor rounded = bench_piece.to(d.scalar_type());
    if (same_bytes(piece, rounded)) continue;
    Slice slice{{},
                widened(bench_piece),
                {},
                widened(piece_of(s, start, length)),
                widened(piece_of(n, start, length)),
                widened(piece_of(drifts, start, length))};
    if (halves && scan_halves(piece, rounded, slice, float_limits(limits, type), pass.result())) {
      continue;
    }
    slice.device = widened(piece);
    slice.rounded = widened(rounded);
    complex ? pass.run<true>(slice, start, length) : pass.run<false>(slice, start, length);
  }
  Scan found = pass.result();
  found.count = d.numel();
  if (!complex) return found;
  for (std::int64_t* at : {&found.first, &found.last, &found.worst_at}) {
    if (*at >= 0) *at /= 2;
  }
  return found;
}

}  // namespace

bool same_bytes(const at::Tensor& one, const at::Tensor& other) {
  return one.scalar_type() == other.scalar_type() &&
         std::memcmp(one.data_ptr(), other.data_ptr(), one.nbytes()) == 0;
}

Scan scan_with_places(const at::Tensor& device, const at::Tensor& bench, const Limits& limits) {
  return walk(device, bench, limits, {});
}

Scan scan(const at::Tensor& device, const at::Tensor& bench, const Limits& limits) {
  const FloatPair floats(device, bench, limits);
  return walk(device, bench, limits, {}, &floats);
}

at::Tensor beyond_mask(const at::Tensor& device, const at::Tensor& bench, const Limits& limits) {
  const at::Tensor mask = at::zeros({parts(device).numel()}, at::kBool);
  std::vector<std::int64_t> places;
  if (FloatPair(device, bench, limits).list(device.numel(), places)) {
    for (const std::int64_t place : places) mask.data_ptr<bool>()[place] = true;
    return mask.view(device.sizes());
  }
  walk(device, bench, limits, {.beyond = mask.data_ptr<bool>()});
  if (!device.is_complex()) return mask.view(device.sizes());
  return mask.view({-1, 2}).any(1).view(device.sizes());
}

at::Tensor beyond_places(const at::Tensor& device, const at::Tensor& bench, const Limits& limits) {
  std::vector<std::int64_t> places;
  if (FloatPair(device, bench, limits).list(device.numel(), places)) {
    return at::tensor(places, at::kLong);
  }
  return beyond_mask(device, bench, limits).flatten().nonzero().flatten();
}

at::Tensor over_bound(const at::Tensor& device, const at::Tensor& bench, const Limits& limits) {
  const at::Tensor over = at::zeros({parts(device).numel()}, at::kDouble);
  walk(device, bench, limits, {.over = over.data_ptr<double>()});
  if (!device.is_complex()) return over.view(device.sizes());
  return over.view({-1, 2}).amax(1).view(device.sizes());
}

}  // namespace msprobe::strict
