// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "cause/cause.h"
#include "strict/wording.h"

namespace msprobe::cause {

using strict::beyond_mask;
using strict::flat;
using strict::Limits;
using strict::number_text;
using strict::place_text;

namespace {

// A hypothesis explains an output when nearly all of it is as it says.
constexpr double kNearlyAll = 0.99;
// A shift leaves something else at one edge.
constexpr double kMostly = 0.8;
constexpr double kRoom = 8;  // eps
// At least this many elements in one place are no coincidence.
constexpr std::int64_t kFew = 4;
// Sums of flushed inputs lose results up to here, in least normal numbers.
constexpr double kAboveSubnormal = 8;
// Flushing explains a result if 9 of 10 subnormal elements are zero.
constexpr std::int64_t kMostFlushed = 9;
constexpr std::int64_t kFlushedOf = 10;
// Errors of exact operators that are no more than a rounding, in eps.
constexpr double kSlight = 4;
// Correlation of data that is not the benchmark's.
constexpr double kUnlike = 0.5;

// Share of elements in which the device gave `wanted`, nearly, in the device's dtype.
double share_of(const Failure& failure, const at::Tensor& wanted) {
  const double eps = failure.type.eps;
  const at::Tensor d = flat(failure.device);
  const at::Tensor w = flat(wanted.to(failure.device.scalar_type()));
  const double room = eps * w.abs().nan_to_num(0, 0, 0).max().item<double>();
  return (d - w)
      .abs()
      .le(kRoom * eps * w.abs() + room)
      .logical_or(d.eq(w))
      .to(at::kDouble)
      .mean()
      .item<double>();
}

// Share of elements that are within the bound of `wanted`.
double share_within(const Failure& failure, const at::Tensor& wanted) {
  const at::Tensor beyond = beyond_mask(failure.device, wanted, failure.limits);
  return 1 - beyond.to(at::kDouble).mean().item<double>();
}

// The hypothesis must say clearly more than the benchmark itself does.
bool explains(const Failure& failure, const at::Tensor& wanted, double enough) {
  const double share = share_of(failure, wanted);
  return share >= enough && share > share_of(failure, failure.bench) + (1 - share);
}

// The same, by the bound where the device's own error is larger than a rounding.
bool explains_within(const Failure& failure, const at::Tensor& wanted, double enough) {
  if (explains(failure, wanted, enough)) return true;
  const double share = share_within(failure, wanted);
  return share >= enough && share > share_within(failure, failure.bench) + (1 - share);
}

std::string not_finite(const Failure& failure) {
  const at::Tensor device = flat(failure.device);
  const at::Tensor odd =
      device.isfinite().logical_not().logical_and(flat(failure.bench).isfinite());
  const auto count = odd.sum().item<std::int64_t>();
  if (count == 0) return "";
  const auto nans = device.isnan().logical_and(odd).sum().item<std::int64_t>();
  std::string where = region_cause(failure);
  // Infinities that belong elsewhere in this result have been moved, not made.
  const at::Tensor rounded = failure.bench.to(failure.device.scalar_type());
  const bool moved = nans == 0 && count >= kFew && flat(rounded).isinf().any().item<bool>();
  if (moved && !where.empty()) return where;
  if (count == 1) {
    const auto place = odd.nonzero()[0][0].item<std::int64_t>();
    const bool complex = failure.device.is_complex();  // of which `flat` has both parts
    return fmt::format("NaN or Inf: one element, {}, is {}",
                       place_text(failure.device.sizes(), complex ? place / 2 : place),
                       nans == 1 ? "NaN" : "Inf");
  }
  return fmt::format("NaN or Inf spread: {} NaN, {} Inf{}{}", nans, count - nans,
                     where.empty() ? "" : "; ", where);
}

std::string slight(const Failure& failure) {
  Limits rounding;
  rounding.relative = kSlight * failure.type.eps;
  rounding.absolute = kSlight * failure.type.smallest;
  if (!scan(failure.device, failure.bench, rounding).good()) return "";
  return fmt::format("{}: no element is off by more than {} eps", kCoarseRounding,
                     number_text(kSlight));
}

std::string swapped(const Failure& failure) {
  for (const at::Tensor& other : failure.other_benches) {
    if (other.sizes() == failure.device.sizes() && explains(failure, other, kNearlyAll)) {
      return "swapped outputs: it equals what another output should be";
    }
  }
  return "";
}

std::string lost(const Failure& failure) {
  const at::Tensor zero = failure.device.eq(0);
  if (zero.all().item<bool>()) return "lost: everything is zero";
  const at::Tensor mask = beyond_mask(failure.device, failure.bench, failure.limits);
  const at::Tensor flat_mask = mask.flatten();
  const auto first = flat_mask.to(at::kByte).argmax().item<std::int64_t>();
  const std::int64_t numel = flat_mask.numel();
  // Where the benchmark has zeros of its own, these are right.
  const auto all_zero_and_bad = [](const at::Tensor& zeros, const at::Tensor& bad) {
    const auto count = bad.sum().item<std::int64_t>();
    return zeros.all().item<bool>() && (count >= kFew || 2 * count >= bad.numel()) && count > 0;
  };
  if (first > 0 && numel - first > 1 &&
      all_zero_and_bad(zero.flatten().narrow(0, first, numel - first),
                       flat_mask.narrow(0, first, numel - first))) {
    return fmt::format("lost tail: the last {} of {} elements, from {} on, are zero", numel - first,
                       numel, place_text(failure.device.sizes(), first));
  }
  for (std::int64_t dim = 0; dim < mask.dim(); ++dim) {
    std::vector<std::int64_t> others;
    for (std::int64_t i = 0; i < mask.dim(); ++i) {
      if (i != dim) others.push_back(i);
    }
    const at::Tensor hit = others.empty() ? mask : mask.to(at::kByte).amax(others);
    const auto start = hit.to(at::kByte).argmax().item<std::int64_t>();
    const std::int64_t length = mask.size(dim) - start;
    if (start > 0 &&
        all_zero_and_bad(zero.narrow(dim, start, length), mask.narrow(dim, start, length))) {
      return fmt::format("lost tail: indices {} to {} of dimension {} are zero", start,
                         mask.size(dim) - 1, dim);
    }
  }
  return "";
}

// No result is subnormal, nearly all that should be are zero, and no other result is that should
// not be: whatever else is off is what flushed inputs left.
std::string flushed(const Failure& failure) {
  const double least = failure.type.least_normal;
  const at::Tensor device = failure.device.to(at::kDouble);
  const at::Tensor right = failure.bench.to(failure.device.scalar_type()).to(at::kDouble).abs();
  const at::Tensor small = right.ne(0).logical_and(right.lt(least));
  const auto count = small.sum().item<std::int64_t>();
  const at::Tensor zero = device.eq(0);
  if (count < kFew || zero.all().item<bool>()) return "";
  const bool none_left = !device.abs().lt(least).logical_and(zero.logical_not()).any().item<bool>();
  const bool others = zero.logical_and(right.ge(kAboveSubnormal * least)).any().item<bool>();
  const auto lost = small.logical_and(zero).sum().item<std::int64_t>();
  if (!none_left || others || lost * kFlushedOf < count * kMostFlushed) return "";
  return fmt::format("flushed subnormals: {} of {} elements below {} are zero", lost, count,
                     number_text(least));
}

std::string clipped(const Failure& failure) {
  if (failure.device.is_complex()) return "";
  if (std::string cause = flushed(failure); !cause.empty()) return cause;
  const at::Tensor mask = beyond_mask(failure.device, failure.bench, failure.limits);
  const at::Tensor device = failure.device.masked_select(mask).to(at::kDouble);
  const at::Tensor bench = failure.bench.masked_select(mask).to(at::kDouble);
  // Subnormal inputs are flushed too, so that results somewhat above are lost as well; but no
  // subnormal result is left.
  const double least = failure.type.least_normal;
  const at::Tensor subnormal = failure.device.abs().lt(least).logical_and(failure.device.ne(0));
  if (device.eq(0).all().item<bool>() &&
      bench.abs().lt(kAboveSubnormal * least).all().item<bool>() && !subnormal.any().item<bool>()) {
    return fmt::format("flushed subnormals: {} elements below {} are zero", device.numel(),
                       number_text(kAboveSubnormal * least));
  }
  const double top = failure.device.to(at::kDouble).abs().nan_to_num(0, 0, 0).max().item<double>();
  const bool at_top = device.abs().eq(top).all().item<bool>() &&
                      bench.abs().gt(top).all().item<bool>() &&
                      device.sign().eq(bench.sign()).all().item<bool>();
  const bool at_largest = top == failure.type.largest;
  const bool enough = device.numel() >= kFew || at_largest;
  if (!at_top || top == 0 || !enough) return "";
  // What should be one number and is another may as well be scaled.
  const at::Tensor sizes = bench.abs();
  if (!at_largest && sizes.min().item<double>() == sizes.max().item<double>()) return "";
  return fmt::format("saturation: {} elements stop at {}", device.numel(), number_text(top));
}

// The factor with few digits that is as good as this one within `room`; else this one.
double simple_factor(double scale, double room) {
  for (const int digits : {1, 2, 3}) {
    const double unit = std::pow(10.0, std::floor(std::log10(std::abs(scale))) - digits + 1);
    const double simple = std::round(scale / unit) * unit;
    if (std::abs(simple - scale) <= room * std::abs(scale)) return simple;
  }
  return scale;
}

// Two standard errors of the median, relative to it: where the device also errs otherwise, the
// median is not known better.
double uncertainty(const at::Tensor& ratios, double median) {
  constexpr double kErrorsOfMedian = 3.7;  // times the median deviation, by the root of the count
  const double deviation = (ratios - median).abs().median().item<double>();
  return kErrorsOfMedian * deviation /
         (std::abs(median) * std::sqrt(static_cast<double>(ratios.numel())));
}

// Elements so far from zero that their ratio says something. A few huge ones do not hide the rest.
at::Tensor far_from_zero(const at::Tensor& bench) {
  const at::Tensor sizes = bench.abs();
  const at::Tensor usable = sizes.gt(0).logical_and(sizes.isfinite());
  const at::Tensor nonzero = sizes.masked_select(usable);
  if (nonzero.numel() == 0) return usable;
  const double top = nonzero.max().item<double>();
  const double limit = std::min(0.05 * top, nonzero.median().item<double>());
  return usable.logical_and(sizes.ge(limit));
}

std::string scaled(const Failure& failure) {
  const at::Tensor device = flat(failure.device);
  const at::Tensor bench = flat(failure.bench);
  const at::Tensor seen = far_from_zero(bench).logical_and(device.isfinite());
  const auto count = seen.sum().item<std::int64_t>();
  if (count < 2) return "";
  const at::Tensor ratios = device.masked_select(seen) / bench.masked_select(seen);
  const double median = ratios.median().item<double>();
  if (!std::isfinite(median) || median == 0 || std::abs(median - 1) <= kRoom * failure.type.eps)
    return "";
  const double scale =
      simple_factor(median, std::max(failure.type.eps, uncertainty(ratios, median)));
  // Few elements have one factor by chance, unless it is a simple one and that of all of them.
  const double apart = (ratios - scale).abs().max().item<double>();
  const bool exact = scale != median || median == simple_factor(median, 0);
  if (count < kFew && !(exact && apart <= failure.type.eps * std::abs(scale))) return "";
  if (!explains_within(
          failure,
          failure.bench.to(at::isComplexType(failure.bench.scalar_type()) ? at::kComplexDouble
                                                                          : at::kDouble) *
              scale,
          kNearlyAll)) {
    return "";
  }
  if (std::abs(scale + 1) <= kRoom * failure.type.eps) return "wrong scale: the opposite sign";
  return fmt::format("wrong scale: {:.6g} times the benchmark", scale);
}

std::string added(const Failure& failure) {
  if (failure.device.is_complex()) return "";
  const at::Tensor bench = failure.bench.to(at::kDouble);
  if (bench.numel() < kFew) return "";
  const at::Tensor difference = flat(failure.device) - bench.flatten();
  const double offset = difference.masked_select(difference.isfinite()).median().item<double>();
  if (!std::isfinite(offset) || offset == 0) return "";
  if (!explains_within(failure, bench + offset, kMostly)) return "";
  return fmt::format("wrong offset: {:.6g} is added to the benchmark", offset);
}

std::string masked(const Failure& failure) {
  const at::Tensor mask = beyond_mask(failure.device, failure.bench, failure.limits);
  const at::Tensor zero = failure.device.eq(0);
  const at::Tensor right = failure.bench.eq(0);
  const auto count = [](const at::Tensor& t) { return t.sum().item<std::int64_t>(); };
  const std::int64_t lost = count(mask.logical_and(zero));
  const std::int64_t woken = count(mask.logical_and(right));
  const std::int64_t all = count(mask);
  if (lost == 0 || woken == 0 || all < kFew) return "";
  if (static_cast<double>(lost + woken) < kNearlyAll * static_cast<double>(all)) return "";
  return fmt::format(
      "wrong mask: {} elements are zero that should not be, {} are not that should be", lost,
      woken);
}

std::string shifted(const Failure& failure) {
  const at::Tensor& bench = failure.bench;
  constexpr std::int64_t kSteps[] = {1, -1, 2, -2, 3, -3, 4, -4, 8, -8, 16, -16, 32, -32};
  for (std::int64_t dim = 0; dim < bench.dim(); ++dim) {
    for (const std::int64_t step : kSteps) {
      if (2 * std::abs(step) > bench.size(dim)) continue;
      if (explains(failure, bench.roll(step, dim), kMostly)) {
        return fmt::format("shifted: by {} along dimension {}", step, dim);
      }
    }
  }
  const at::Tensor line = bench.flatten();
  for (const std::int64_t step : kSteps) {
    if (2 * std::abs(step) > line.numel() || bench.dim() < 2) continue;
    if (explains(failure, line.roll(step, 0).view(bench.sizes()), kMostly)) {
      return fmt::format("shifted: by {} elements in memory", step);
    }
  }
  return "";
}

std::string transposed(const Failure& failure) {
  const at::Tensor& bench = failure.bench;
  for (std::int64_t i = 0; i < bench.dim(); ++i) {
    for (std::int64_t j = i + 1; j < bench.dim(); ++j) {
      const at::Tensor turned = bench.transpose(i, j).contiguous().view(bench.sizes());
      if (explains(failure, turned, kNearlyAll)) {
        return fmt::format("transposed: dimensions {} and {}", i, j);
      }
    }
  }
  for (std::int64_t i = 0; i < bench.dim(); ++i) {
    if (explains(failure, bench.flip(i), kNearlyAll))
      return fmt::format("reversed: dimension {}", i);
  }
  return "";
}

}  // namespace

std::string pattern_cause(const Failure& failure) {
  using Hypothesis = std::string (*)(const Failure&);
  for (const Hypothesis hypothesis : {&slight, &swapped, &clipped, &lost, &scaled, &added, &shifted,
                                      &transposed, &not_finite, &masked}) {
    if (std::string cause = hypothesis(failure); !cause.empty()) return cause;
  }
  return "";
}

// Values that have nothing to do with the benchmark's, or some that are wrong here and there.
std::string rest_cause(const Failure& failure) {
  const at::Tensor mask = beyond_mask(failure.device, failure.bench, failure.limits);
  const auto bad = mask.sum().item<std::int64_t>();
  if (mask.numel() < 2 * kFew || bad < kFew) return "";
  if (2 * bad < mask.numel()) {
    return fmt::format("bad elements: {} of {}, scattered", bad, mask.numel());
  }
  const at::Tensor device = flat(failure.device);
  const at::Tensor bench = flat(failure.bench);
  const at::Tensor finite = device.isfinite().logical_and(bench.isfinite());
  const at::Tensor pair = at::stack({device.masked_select(finite), bench.masked_select(finite)});
  if (pair.size(1) < 2 * kFew) return "";
  const double alike = at::corrcoef(pair)[0][1].item<double>();
  if (!(std::abs(alike) < kUnlike)) return "";
  return fmt::format("unrelated data: its correlation with the benchmark is {:.2g}", alike);
}

}  // namespace msprobe::cause
