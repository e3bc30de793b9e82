// SPDX-License-Identifier: Apache-2.0
#include "codes/judge_scaled.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "cause/scaled_causes.h"
#include "cause/scaled_unit.h"
#include "codes/judge_codes.h"
#include "codes/quantisation.h"
#include "execute/scaled_operators.h"
#include "libtorch/dtypes.h"
#include "low_precision/codes.h"
#include "strict/error_map.h"
#include "strict/failure.h"
#include "strict/wording.h"

namespace msprobe::codes {

using strict::beyond_mask;
using strict::Direction;
using strict::error_map;
using strict::excess_number;
using strict::excess_text;
using strict::Failure;
using strict::float_type;
using strict::FloatType;
using strict::is_alarm;
using strict::is_right;
using strict::kFloatEps;
using strict::kFloatSmallest;
using strict::kSumOfResult;
using strict::kSumOfTerms;
using strict::kWalk;
using strict::kWarningExcess;
using strict::Limits;
using strict::over_bound;
using strict::passed;
using strict::scan;
using strict::Scan;
using strict::within;
using strict::wrong;
namespace {

using low_precision::ScaledProduct;
using low_precision::TermSizes;

// Products of more terms take too long in the arithmetic of a unit: about 10 s.
constexpr double kMostUnitTerms = 0x1p30;
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
  const bool was_bfloat16 = device.scalar_type() == at::kFloat && rounds_twice(product) &&
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

// The largest power of two that divides every number of each row; infinity for a row of zeros.
at::Tensor unit_of_rows(const at::Tensor& numbers) {
  if (numbers.size(1) == 0) return at::full({numbers.size(0)}, HUGE_VAL, at::kDouble);
  const auto [fraction, exponent] = at::frexp(numbers.nan_to_num(0, 0, 0));
  // 53 bits of the fraction as a whole number, and its lowest bit.
  const at::Tensor whole = (fraction.abs() * 0x1p53).to(at::kLong);
  const at::Tensor low = whole.bitwise_and(whole.neg()).to(at::kDouble);
  const at::Tensor units = at::ldexp(low, exponent.to(at::kDouble) - 53);
  return at::amin(units.masked_fill(whole.eq(0), HUGE_VAL), 1);
}

// Where every partial sum is exact in float32, whatever the order and the unit: of MX and NVFP4,
// and of short sums.
at::Tensor sums_are_exact(const ScaledProduct& product) {
  constexpr double kExact = 0x1p22;
  at::Tensor exact = at::zeros(product.shape, at::kBool);
  for (const low_precision::Part& part : product.parts) {
    const auto scaled = [](low_precision::Factor factor) {
      factor.scale = 1;
      return factor.scaled();
    };
    const at::Tensor left = scaled(part.left), right = scaled(part.right);
    const at::Tensor sums =
        at::mm(left.nan_to_num(0, 0, 0).abs(), right.nan_to_num(0, 0, 0).abs().t());
    const at::Tensor units = unit_of_rows(left).unsqueeze(1) * unit_of_rows(right).unsqueeze(0);
    part.place_in(exact).copy_(sums.lt(kExact * units).logical_and(sums.lt(3e38)));
  }
  return exact;
}

// What a unit of few bits may be off.
struct UnitErrors {
  at::Tensor drift;   // of the model, signed
  at::Tensor spread;  // of another order of the terms
  at::Tensor sizes;   // of the sums, to compare elements by
};

UnitErrors errors_of(const ScaledProduct& product, const TermSizes& sizes,
                     const units::Unit& unit) {
  constexpr double kUsual = 0.99;
  constexpr std::int64_t kMostSorted = 1 << 22;  // what LibTorch takes quantiles of
  units::Unit other = unit;
  other.order =
      unit.order == units::Order::kReversed ? units::Order::kInOrder : units::Order::kReversed;
  UnitErrors errors;
  errors.drift = (cause::unit_sums(product, unit) - sizes.products).nan_to_num(0, 0, 0);
  const at::Tensor again = (cause::unit_sums(product, other) - sizes.products).nan_to_num(0, 0, 0);
  errors.sizes = (sizes.norms + sizes.products.nan_to_num(0, 0, 0).abs()).clamp_min(1e-300);
  const at::Tensor apart = (errors.drift - again).abs();
  const at::Tensor shares = (apart / errors.sizes).flatten();
  const at::Tensor some = shares.numel() > kMostSorted ? shares.narrow(0, 0, kMostSorted) : shares;
  const double usual = some.numel() == 0 ? 0 : at::quantile(some, kUsual).item<double>();
  const double unit_size = std::ldexp(1.0, -unit.bits);
  errors.spread = 2 * apart + 2 * usual * errors.sizes + 4 * unit_size * sizes.norms;
  return errors;
}

// How much of the model's drift there is in `off`, between none and half as much again.
double share_of_drift(const at::Tensor& off, const at::Tensor& drift) {
  constexpr double kMost = 1.5;
  const at::Tensor clean = off.nan_to_num(0, 0, 0);
  const double square = drift.square().sum().item<double>();
  if (square == 0) return 0;
  return std::clamp((clean * drift).sum().item<double>() / square, 0.0, kMost);
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
    errors_ = sum_error(product, sizes_);
    if (!product.scaled && context.allows_tf32(pair)) errors_ = errors_ + tf32_error();
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
      if (is_alarm(finding) && few_bits && cause::unit_cost(product_) <= kMostUnitTerms) {
        finding = judge_unit(reading, *unit);
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
  // A unit of few bits loses toward zero, the more the longer its sums are: how much, depends on
  // its blocks and their order, but one share of what the model loses is right for all elements.
  StrictFinding judge_unit(const Reading& reading, const units::Unit& unit) {
    const UnitErrors unit_errors = errors_of(product_, sizes_, unit);
    const at::Tensor off = low_precision::numbers_of(pair_.device) / reading.factor - bench_;
    const double share =
        share_of_drift(off / unit_errors.sizes, unit_errors.drift / unit_errors.sizes);
    const at::Tensor bench = bench_;
    bench_ = bench_ + share * unit_errors.drift;
    StrictFinding found = judge_reading(reading, errors_ + unit_errors.spread);
    bench_ = bench;
    if (is_right(found)) found.reason += fmt::format(", as a unit of {} bits adds", unit.bits);
    return found;
  }

  // Factors of float32 that were rounded to TF32.
  at::Tensor tf32_error() const {
    return 0x1p-8 * sizes_.norms + 0x1p-10 * sizes_.products.nan_to_num(0, 0, 0).abs();
  }

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
    const bool slight = found.not_finite == 0 && found.worst <= kWarningExcess;
    return {slight ? Verdict::kWarning : Verdict::kError, excess_text(found, pair_.device, bench),
            cause_of_excess(bench, limits),
            error_map(pair_.device, bench, over_bound(pair_.device, bench, limits)),
            excess_number(found)};
  }

  std::string cause_of_excess(const at::Tensor& bench, const Limits& limits) const {
    const at::Tensor beyond = beyond_mask(pair_.device, bench, limits);
    std::string cause = cause::scaled_cause(product_, pair_.device, bench, beyond);
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

at::Tensor sum_error(const ScaledProduct& product, const TermSizes& sizes) {
  const double terms = static_cast<double>(std::max<std::int64_t>(sizes.terms, 1));
  const at::Tensor sums = sizes.products.nan_to_num(0, 0, 0).abs();
  // Rounded to nearest, in any order; the scales four times.
  at::Tensor errors =
      std::sqrt(terms) * kHalfFloatEps * (kSumOfResult * sums + kSumOfTerms * sizes.norms);
  if (product.scaled) errors += 4 * kHalfFloatEps * sizes.sums;
  // Cut: every 8 terms lose up to a unit of the running sum.
  errors += (terms / 8 + 2) * kFloatEps * (sums + kWalk * sizes.norms);
  errors += terms * kFloatSmallest;
  if (!product.scaled) return errors;
  // The scales of whole tensors are multiplied, and the sum by them.
  const bool whole = std::ranges::any_of(product.parts, [](const low_precision::Part& part) {
    return part.left.scale != 1 || part.right.scale != 1;
  });
  const at::Tensor exact = whole ? 4 * kHalfFloatEps * sums : at::zeros_like(sums);
  return at::where(sums_are_exact(product), exact, errors);
}

std::optional<StrictFinding> judge_scaled(CallContext& context, const Pair& pair) {
  if (pair.direction == Direction::kBackward || pair.leaf.path != "0") return std::nullopt;
  const auto call = context.rerun.arguments();
  if (!call) return std::nullopt;
  const auto product = execute::scaled_product_of(context.name.bare_name, **call);
  if (!product || pair.device.sizes() != product->shape) return std::nullopt;
  StrictFinding finding = ScaledJudge(context, pair, *product).judge();
  if (pair.device.numel() > 0)
    finding.reason += text(*product, pair.device, pair.bench.to(at::kDouble));
  return finding;
}

}  // namespace msprobe::codes
