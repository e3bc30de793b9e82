// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_conditioned.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "strict/bound.h"
#include "strict/judge_product.h"

namespace msprobe::strict {
namespace {

// A rounding to TF32 moves an input this much farther than one to float32: 2^(23 - 10).
constexpr double kTf32Moves = 8192;
// So many elements, and one in so many, are not a few bad ones.
constexpr std::int64_t kFewElements = 4;
constexpr std::int64_t kShareOfMany = 100;

// Whether a kernel that rounds its intermediate results to this dtype could have left this: then
// many elements are off by a unit or more, and not one alone. A convolution has no such results,
// and its gradient may have.
bool has_rounded_steps(const CallContext& context, const Pair& pair, Limits limits) {
  if (context.is_convolution() && pair.direction == Direction::kForward) return false;
  limits.units = 1;
  const Scan found = scan(pair.device, pair.bench, limits);
  return found.beyond >= std::max(kFewElements, found.count / kShareOfMany);
}

StrictFinding within_spread(const CallContext& context, const Scan& found) {
  const int runs = context.conditioning.runs();
  return within(found, runs == 0
                           ? ", from the derivatives of this call"
                           : fmt::format(", from the conditioning of this call ({} runs)", runs));
}

}  // namespace

std::optional<StrictFinding> judge_derived(CallContext& context, const Pair& pair,
                                           const FloatType& type) {
  const auto plain = [](const at::Tensor& tensor, at::ScalarType wanted) {
    return tensor.scalar_type() == wanted && tensor.is_contiguous();
  };
  if (!plain(pair.device, at::kFloat) || !plain(pair.bench, at::kDouble) ||
      !context.has_even_sums(pair) || context.allows_tf32(pair) ||
      context.conditioning.runs() > 0) {
    return std::nullopt;
  }
  const auto* device = pair.device.data_ptr<float>();
  const auto* bench = pair.bench.data_ptr<double>();
  const Limits limits = spread_limits(type, context.length_of(pair), {});
  Scan all{.count = pair.device.numel()};
  UsedShares used;
  const auto add = [&](std::int64_t start, std::span<const double> spreads) {
    const FloatScan found = scan_floats(
        {device + start, nullptr, bench + start, spreads.data(), nullptr, nullptr, spreads.size()},
        float_limits(limits, type));
    all.differ += found.differ;
    if (!found.finite || found.beyond > 0) ++all.beyond;
    used.add(used_shares({device + start, spreads.size()}, {bench + start, spreads.size()},
                         {limits.relative, limits.absolute, limits.spread, spreads.data()}));
    return all.good();
  };
  if (!context.for_derived_spreads(pair, add) || !all.good()) return std::nullopt;
  all.worst_inside = as_others_need(limits, first_limits(type), used).used;
  if (all.worst_inside > 1) return std::nullopt;  // more than others need, but it may be `least`
  return within_spread(context, all);
}

std::optional<StrictFinding> judge_same_draw(CallContext& context, const Pair& pair,
                                             const FloatType& type) {
  Tried tried{spread_limits(type, context.length_of(pair),
                            context.conditioning.spread(pair.direction, pair.leaf.path)),
              {}};
  tried.found = scan(pair.device, pair.bench, tried.limits);
  if (tried.found.beyond > tried.found.count / kShareOfMany) return std::nullopt;
  return judge_conditioned(context, pair, type, tried, kRuns[0]);
}

std::optional<StrictFinding> judge_conditioned(CallContext& context, const Pair& pair,
                                               const FloatType& type, Tried& tried, int most) {
  const auto compare = [&](Limits limits) {
    tried.limits = std::move(limits);
    tried.found = scan(pair.device, pair.bench, tried.limits);
    return tried.found.good();
  };
  const double length = context.length_of(pair);
  const bool once = is_half(type) && tried.found.not_finite == 0 && context.rounds_once(pair);
  for (const int runs : kRuns) {
    if (runs > most) break;
    context.conditioning.measure(runs, pair.direction, pair.leaf.path);
    const at::Tensor spread = context.conditioning.spread(pair.direction, pair.leaf.path);
    // Of a few runs, those of some elements are too small by chance.
    const auto explains = [&](const Limits& limits) {
      if (compare(limits)) return true;
      const Tried before = tried;
      if (runs == kRuns[2] || !spread.defined() || pair.bench.is_complex() ||
          before.found.not_finite > 0 || before.found.beyond > before.found.count / kShareOfMany) {
        return false;
      }
      Limits usual = limits;
      usual.spreads = usual_spreads(spread, pair.bench);
      if (compare(std::move(usual))) return true;
      tried = before;
      return false;
    };
    if (once) {
      Limits limits = wide_limits(type, length, spread);
      context.add_kernel(pair, type, limits);
      context.add_cancelled(pair, type, limits);
      if (explains(limits)) return within_spread(context, tried.found);
      if (auto finding = judge_cut(context, pair, type, tried)) return finding;
      if (!has_rounded_steps(context, pair, tried.limits)) continue;
    }
    Limits limits = spread_limits(type, length, spread);
    if (context.allows_tf32(pair)) limits.spread += 2 * kIntermediates * kTf32Moves;
    context.add_kernel(pair, type, limits);
    context.add_cancelled(pair, type, limits);
    if (explains(limits)) {
      limits = tried.limits;
      if (!context.has_even_sums(pair)) return within_spread(context, tried.found);
      const auto holds_lowered = [&](const at::Tensor& terms) {
        const auto [lower, used] =
            as_others_need(limits, first_limits(type), pair.device, pair.bench, terms);
        if (used > 1) return compare(lower);
        tried.limits = lower;
        tried.found.worst_inside = used;
        return true;
      };
      if (holds_lowered({})) return within_spread(context, tried.found);
      if (const at::Tensor terms = context.terms_in(pair); terms.defined()) {
        if (holds_lowered(terms)) return within_spread(context, tried.found);
      }
      limits = tried.limits;
    } else if (auto finding = judge_cut(context, pair, type, tried)) {
      return finding;
    }
    if (!context.add_native(pair, type, limits)) continue;
    const bool hopeless = tried.found.not_finite > 0;  // no further run makes a NaN right
    if (explains(limits)) return within_native(context, pair, tried);
    if (hopeless) return std::nullopt;
    // Many runs, where few are likely to be enough.
    if (runs == kRuns[0] || !context.add_neighbours(pair, limits)) continue;
    if (compare(std::move(limits))) return within_native(context, pair, tried);
  }
  return std::nullopt;
}

}  // namespace msprobe::strict
