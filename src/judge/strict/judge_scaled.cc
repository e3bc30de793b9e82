// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_scaled.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "execute/scaled_operators.h"
#include "libtorch/dtypes.h"
#include "low_precision/codes.h"
#include "strict/bound.h"
#include "strict/error_map.h"
#include "strict/failure.h"
#include "strict/judge_codes.h"
#include "strict/quantisation.h"
#include "strict/scaled_causes.h"
#include "strict/scaled_unit.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

using low_precision::ScaledProduct;
using low_precision::TermSizes;

constexpr double kSlightExcess = 4;
// Products of more terms take too long in the arithmetic of a unit: about 10 s.
constexpr double kMostUnitTerms = 0x1p31;
// Units that keep fewer bits than this are not like float32.
constexpr int kFloatLikeBits = 20;
// The unit of Ada, which cuts more often than that of Hopper: 13 bits behind the largest exponent.
constexpr units::Unit kFewBits{.block = 16, .bits = 13};

// What scale_result did: PyTorch's CPU divides by it, CUDA multiplied by it, ignores it or
// multiplies again, as the version is.
struct Reading {
  double factor;
  std::string_view text;
};

std::vector<Reading> readings_of(const ScaledProduct& product) {
  if (!product.of_result) return {{1, ""}};
  const double scale = *product.of_result;
  return {{1 / scale, "; the result was divided by scale_result"},
          {scale, "; the result was multiplied by scale_result"},
          {1, "; scale_result was ignored"}};
}

// Whether kernels scale the rounded result once more: torchao's do by rows, and with a scale of the
// whole tensor beside those of blocks.
bool rounds_twice(const ScaledProduct& product) {
  return std::ranges::any_of(product.parts, [](const low_precision::Part& part) {
    const auto scaled_after = [](const low_precision::Factor& factor) {
      const bool rows = factor.scales.defined() && factor.scales.size(0) > 1 &&
                        factor.scales.size(1) == 1 && factor.block >= factor.numbers.size(1);
      return rows || factor.scale != 1;
    };
    return scaled_after(part.left) || scaled_after(part.right);
  });
}

// Half a unit of `type` at a number that is off by as much as `errors`; a whole one of a result
// that may be rounded twice. Of a float32 result that was bfloat16 before, a unit of that.
at::Tensor rounding_error(const ScaledProduct& product, const at::Tensor& device,
                          const at::Tensor& bench, const at::Tensor& errors,
                          const FloatType& type) {
  const at::Tensor most = bench.abs() + errors;
  const auto half_units = [&](const FloatType& of) {
    // 2^floor(log2) of what is largest there.
    const at::Tensor power = at::exp2(at::floor(at::log2(most.clamp_min(of.least_normal))));
    return power * (of.eps / 2);
  };
  const bool was_bfloat16 = device.scalar_type() == at::kFloat &&
                            at::equal(device.nan_to_num(0, 0, 0),
                                      device.nan_to_num(0, 0, 0).to(at::kBFloat16).to(at::kFloat));
  if (was_bfloat16 && device.numel() > 1) return 2 * half_units(*float_type(at::kBFloat16));
  const bool twice = type.eps > kFloatEps && rounds_twice(product);
  return (twice ? 2 : 1) * half_units(type);
}

// The unit that the device is known to have for such products.
std::optional<units::Unit> known_unit(const CallContext& context, const ScaledProduct& product) {
  for (const DType dtype : {DType::kFloat8E4M3, DType::kFloat8E5M2}) {
    const auto type = libtorch::scalar_type(dtype);
    const auto found = type ? context.allowed.card.find(*type) : context.allowed.card.end();
    if (found != context.allowed.card.end() && !found->second.units.empty()) {
      return found->second.units.front();
    }
  }
  if (product.fast_sums) return kFewBits;
  return std::nullopt;
}

bool overflows_when_scaled(const ScaledProduct& product) {
  for (const auto& part : product.parts) {
    for (const auto* factor : {&part.left, &part.right}) {
      if (factor->numbers.numel() == 0) continue;
      const at::Tensor sizes = factor->scaled().nan_to_num(0, 0, 0).abs();
      if (sizes.max().item<double>() > 3.4e38) return true;
    }
  }
  return false;
}

class ScaledJudge {
 public:
  ScaledJudge(CallContext& context, const Pair& pair, const ScaledProduct& product)
      : context_(context), pair_(pair), product_(product), sizes_(term_sizes(product)) {
    bench_ = sizes_.products;
    if (product.bias.defined()) bench_ = bench_ + product.bias;
    errors_ = sum_error(sizes_);
    if (product.bias.defined()) {
      errors_ =
          errors_ + 2 * kHalfFloatEps * (bench_.abs() + product.bias.abs()).nan_to_num(0, 0, 0);
    }
  }

  StrictFinding judge() {
    const auto unit = known_unit(context_, product_);
    const bool few_bits = unit && unit->bits < kFloatLikeBits;
    std::optional<StrictFinding> first;
    for (const Reading& reading : readings_of(product_)) {
      StrictFinding finding = judge_reading(reading, errors_);
      if (is_alarm(finding) && few_bits && unit_cost(product_) <= kMostUnitTerms) {
        const at::Tensor wide = errors_ + unit_error(product_, sizes_, *unit);
        StrictFinding again = judge_reading(reading, wide);
        if (is_right(again)) again.reason += fmt::format(", as a unit of {} bits adds", unit->bits);
        finding = std::move(again);
      }
      if (is_right(finding)) {
        finding.reason += reading.text;
        return finding;
      }
      if (!first) first = std::move(finding);
    }
    return *first;
  }

 private:
  StrictFinding judge_reading(const Reading& reading, const at::Tensor& errors) {
    const at::Tensor bench = bench_ * reading.factor;
    const at::Tensor allowed = errors * std::abs(reading.factor);
    if (const auto format = low_precision::code_format(pair_.device.scalar_type())) {
      return judge_codes({.format = *format,
                          .device = low_precision::bytes_of(pair_.device),
                          .numbers = bench.contiguous(),
                          .allowed = allowed.contiguous()});
    }
    const auto type = float_type(pair_.device.scalar_type());
    if (!type) return judge_whole(bench, allowed);
    Limits limits{.spread = 1};
    limits.spreads = (allowed + rounding_error(product_, pair_.device, bench.nan_to_num(0, 0, 0),
                                               allowed, *type))
                         .contiguous();
    return judge_numbers(bench.contiguous(), limits, allowed);
  }

  // PyTorch's CPU gives whole numbers if it is asked for them.
  StrictFinding judge_whole(const at::Tensor& bench, const at::Tensor& allowed) {
    const at::Tensor off = (pair_.device.to(at::kDouble) - bench).abs();
    if (off.le(allowed + 1).all().item<bool>()) return passed("equal but for one rounding");
    return wrong("elements differ by more than one");
  }

  // Two roundings to nearest may be a whole unit off, but to both sides.
  bool is_cut(const at::Tensor& bench, const Limits& limits, const at::Tensor& sum_errors) const {
    constexpr std::int64_t kFarElements = 16;
    constexpr double kOneSided = 0.97;
    if (!rounds_twice(product_)) return false;
    const at::Tensor device = pair_.device.to(at::kDouble);
    const at::Tensor half = (limits.spreads + sum_errors) / 2;
    const at::Tensor far = (device - bench).abs().gt(half * (1 + 1e-3));
    const auto many = far.sum().item<std::int64_t>();
    if (many < kFarElements) return false;
    const at::Tensor inward = device.abs().lt(bench.abs()).logical_and(far);
    const double share = inward.sum().item<double>() / static_cast<double>(many);
    return share > kOneSided || share < 1 - kOneSided;
  }

  StrictFinding judge_numbers(const at::Tensor& bench, const Limits& limits,
                              const at::Tensor& sum_errors) {
    const Scan found = scan(pair_.device, bench, limits);
    if (found.good() && is_cut(bench, limits, sum_errors)) {
      return wrong("results that are off by more than half a unit are all off to the same side",
                   "rounded toward zero, or away from it");
    }
    if (found.good()) return within(found, "");
    if (found.not_finite == found.beyond && overflows_when_scaled(product_)) {
      StrictFinding finding = passed(
          "not finite where a code times its scale is beyond float32: that depends on when the "
          "scales are taken");
      finding.status = Verdict::kInconclusive;
      return finding;
    }
    const Scan placed = scan_with_places(pair_.device, bench, limits);
    const bool slight = found.not_finite == 0 && found.worst <= kSlightExcess;
    return {slight ? Verdict::kWarning : Verdict::kError, excess_text(placed, pair_.device, bench),
            cause_of_excess(bench, limits),
            error_map(pair_.device, bench, over_bound(pair_.device, bench, limits)),
            excess_number(placed)};
  }

  std::string cause_of_excess(const at::Tensor& bench, const Limits& limits) const {
    const at::Tensor beyond = beyond_mask(pair_.device, bench, limits);
    std::string cause = scaled_cause(product_, pair_.device, bench, beyond);
    if (!cause.empty()) return cause;
    Failure failure;
    failure.device = pair_.device;
    failure.bench = bench;
    failure.limits = limits;
    failure.type = *float_type(pair_.device.scalar_type());
    failure.direction = pair_.direction;
    failure.path = pair_.leaf.path;
    failure.bare_name = context_.name.bare_name;
    return context_.allowed.cause_of(failure);
  }

  CallContext& context_;
  const Pair& pair_;
  const ScaledProduct& product_;
  TermSizes sizes_;
  at::Tensor bench_, errors_;
};

}  // namespace

at::Tensor sum_error(const TermSizes& sizes) {
  constexpr double kFloatSmallestSum = 0x1p-149;
  const double terms = static_cast<double>(std::max<std::int64_t>(sizes.terms, 1));
  const at::Tensor sums = sizes.products.nan_to_num(0, 0, 0).abs();
  // Rounded to nearest, in any order; the scales four times.
  at::Tensor errors = std::sqrt(terms) * kHalfFloatEps * (2 * sums + 4 * sizes.norms) +
                      4 * kHalfFloatEps * sizes.sums;
  // Cut: every 8 terms lose up to a unit of the running sum.
  errors += (terms / 8 + 2) * kFloatEps * (sums + kWalk * sizes.norms);
  return errors + terms * kFloatSmallestSum;
}

at::Tensor unit_error(const ScaledProduct& product, const TermSizes& sizes,
                      const units::Unit& unit) {
  constexpr double kUsual = 0.99;
  constexpr std::int64_t kMostSorted = 1 << 22;  // what LibTorch takes quantiles of
  const at::Tensor errors = (unit_sums(product, unit) - sizes.products).abs().nan_to_num(0, 0, 0);
  const at::Tensor norms = sizes.norms.clamp_min(1e-300);
  const at::Tensor shares = (errors / norms).flatten();
  const at::Tensor some = shares.numel() > kMostSorted ? shares.narrow(0, 0, kMostSorted) : shares;
  const double usual = some.numel() == 0 ? 0 : at::quantile(some, kUsual).item<double>();
  const double unit_size = std::ldexp(1.0, -unit.bits);
  return 2 * errors + (2 * usual + 4 * unit_size) * sizes.norms;
}

std::optional<StrictFinding> judge_scaled(CallContext& context, const Pair& pair) {
  if (pair.direction == Direction::kBackward || pair.leaf.path != "0") return std::nullopt;
  if (execute::find_benchmark(context.name.bare_name) == nullptr) return std::nullopt;
  const auto call = context.rerun.arguments();
  if (!call) return std::nullopt;
  const auto product = execute::scaled_product_of(context.name.bare_name, **call);
  if (!product || !product->scaled || pair.device.sizes() != product->shape) return std::nullopt;
  StrictFinding finding = ScaledJudge(context, pair, *product).judge();
  if (pair.device.numel() > 0)
    finding.reason += text(*product, pair.device, pair.bench.to(at::kDouble));
  return finding;
}

}  // namespace msprobe::strict
