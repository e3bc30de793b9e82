#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "strict/cause.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

// A hypothesis explains an output when nearly all of it is as it says.
constexpr double kNearlyAll = 0.99;
// A shift leaves something else at one edge.
constexpr double kMostly = 0.8;
constexpr double kRoom = 8;  // eps

// Both sides in float64, flat; complex numbers as pairs.
at::Tensor flat(const at::Tensor& tensor) {
  return (tensor.is_complex() ? at::view_as_real(tensor.contiguous()) : tensor)
      .to(at::kDouble)
      .flatten();
}

// Share of elements in which the device gave `wanted`.
double share_of(const at::Tensor& device, const at::Tensor& wanted, double eps) {
  const at::Tensor d = flat(device);
  const at::Tensor w = flat(wanted);
  const double room = eps * w.abs().nan_to_num(0, 0, 0).max().item<double>();
  return (d - w).abs().le(kRoom * eps * w.abs() + room).to(at::kDouble).mean().item<double>();
}

double share_of(const Failure& failure, const at::Tensor& wanted) {
  return share_of(failure.device, wanted, failure.type.eps);
}

// The hypothesis must say clearly more than the benchmark itself does.
bool explains(const Failure& failure, const at::Tensor& wanted, double enough) {
  const double share = share_of(failure, wanted);
  return share >= enough && share > share_of(failure, failure.bench) + (1 - share);
}

std::string not_finite(const Failure& failure) {
  const at::Tensor device = flat(failure.device);
  const at::Tensor odd =
      device.isfinite().logical_not().logical_and(flat(failure.bench).isfinite());
  const auto count = odd.sum().item<std::int64_t>();
  if (count == 0) return "";
  const auto nans = device.isnan().logical_and(odd).sum().item<std::int64_t>();
  std::string where = region_cause(failure);
  return fmt::format("NaN or Inf spread: {} NaN, {} Inf{}{}", nans, count - nans,
                     where.empty() ? "" : "; ", where);
}

std::string swapped(const Failure& failure) {
  for (const at::Tensor& other : failure.other_benches) {
    if (other.sizes() == failure.device.sizes() && explains(failure, other, kNearlyAll)) {
      return "swapped outputs: it holds what another output should";
    }
  }
  return "";
}

std::string lost(const Failure& failure) {
  const at::Tensor zero = failure.device.eq(0);
  if (zero.all().item<bool>()) return "lost: all of it is zero";
  const at::Tensor mask = beyond_mask(failure.device, failure.bench, failure.limits);
  const at::Tensor flat_mask = mask.flatten();
  const auto first = flat_mask.to(at::kByte).argmax().item<std::int64_t>();
  const std::int64_t numel = flat_mask.numel();
  const auto all_zero_and_bad = [](const at::Tensor& zeros, const at::Tensor& bad) {
    return bad.numel() > 0 && zeros.all().item<bool>() &&
           bad.to(at::kDouble).mean().item<double>() >= 0.5;
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
    const at::Tensor hit = others.empty() ? mask : mask.any(at::IntArrayRef(others));
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

std::string clipped(const Failure& failure) {
  if (failure.device.is_complex()) return "";
  const at::Tensor mask = beyond_mask(failure.device, failure.bench, failure.limits);
  const at::Tensor device = failure.device.masked_select(mask).to(at::kDouble);
  const at::Tensor bench = failure.bench.masked_select(mask).to(at::kDouble);
  if (device.eq(0).all().item<bool>() &&
      bench.abs().lt(failure.type.least_normal).all().item<bool>()) {
    return fmt::format("flushed subnormals: {} elements below {} are zero", device.numel(),
                       number_text(failure.type.least_normal));
  }
  const double top = failure.device.to(at::kDouble).abs().nan_to_num(0, 0, 0).max().item<double>();
  const bool at_top = device.abs().eq(top).all().item<bool>() &&
                      bench.abs().gt(top).all().item<bool>() &&
                      device.sign().eq(bench.sign()).all().item<bool>();
  if (!at_top || top == 0) return "";
  return fmt::format("saturation: {} elements stop at {}", device.numel(), number_text(top));
}

std::string scaled(const Failure& failure) {
  const at::Tensor device = flat(failure.device);
  const at::Tensor bench = flat(failure.bench);
  const double top = bench.abs().nan_to_num(0, 0, 0).max().item<double>();
  const at::Tensor clear = bench.abs().gt(0.05 * top).logical_and(bench.isfinite());
  if (top == 0 || clear.sum().item<std::int64_t>() < 4) return "";
  const double scale =
      (device.masked_select(clear) / bench.masked_select(clear)).median().item<double>();
  if (!std::isfinite(scale) || scale == 0 || std::abs(scale - 1) <= kRoom * failure.type.eps)
    return "";
  if (!explains(failure,
                failure.bench.to(at::isComplexType(failure.bench.scalar_type()) ? at::kComplexDouble
                                                                                : at::kDouble) *
                    scale,
                kNearlyAll)) {
    return "";
  }
  if (std::abs(scale + 1) <= kRoom * failure.type.eps) return "wrong scale: the opposite sign";
  return fmt::format("wrong scale: {:.6g} times the benchmark", scale);
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
  for (const Hypothesis hypothesis :
       {&not_finite, &swapped, &lost, &clipped, &scaled, &shifted, &transposed}) {
    if (std::string cause = hypothesis(failure); !cause.empty()) return cause;
  }
  return "";
}

}  // namespace msprobe::strict
