// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_conditioned.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "strict/bound.h"
#include "strict/explain.h"
#include "strict/judge_product.h"
#include "strict/scan_elements.h"

namespace msprobe::strict {
namespace {

// A rounding to TF32 moves an input this much farther than one to float32: 2^(23 - 10).
constexpr double kTf32Moves = 8192;
// More bad elements than this, and more than one in kShareOfMany, are many.
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

StrictFinding within_spread(const CallContext& context, const Pair& pair, const Tried& tried) {
  const int runs = context.conditioning.runs();
  StrictFinding finding = within(
      tried.found, runs == 0 ? ", from the derivatives of this call"
                             : fmt::format(", from the conditioning of this call ({} runs)", runs));
  add_explanation(context, pair, tried.limits,
                  runs == 0 ? "derivatives" : fmt::format("conditioning, {} runs", runs),
                  context.length_of(pair), finding);
  return finding;
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
  Notes notes;
  Scan& all = notes.found;
  const auto add = [&](std::int64_t start, std::span<const double> spreads) {
    scan_elements({device + start, nullptr, nullptr, bench + start, nullptr, spreads.data(),
                   nullptr, nullptr, spreads.size()},
                  start, limits, type, /*with_shares=*/true, notes);
    return all.good();
  };
  if (!context.for_derived_spreads(pair, add) || !all.good()) return std::nullopt;
  LoweredLimits lower = as_others_need(limits, first_limits(type), all);
  all.worst_inside = lower.used;
  if (all.worst_inside > 1) return std::nullopt;  // more than others need, but it may be `least`
  if (context.options.replay().explain) {
    context.conditioning.measure(kRuns[0], pair.direction, pair.leaf.path);
    lower.limits.spreads = context.conditioning.spread(pair.direction, pair.leaf.path);
  }
  return within_spread(context, pair, {std::move(lower.limits), all});
}

std::optional<StrictFinding> judge_same_draw(CallContext& context, const Pair& pair,
                                             const FloatType& type) {
  Tried tried{spread_limits(type, context.length_of(pair),
                            context.conditioning.spread(pair.direction, pair.leaf.path)),
              {}};
  tried.found = scan(pair.device, pair.bench, tried.limits);
  if (tried.found.beyond > tried.found.count / kShareOfMany) return std::nullopt;
  return ConditionedJudge(context, pair, type, tried).judge(kRuns[0]);
}

ConditionedJudge::ConditionedJudge(CallContext& context, const Pair& pair, const FloatType& type,
                                   Tried& tried)
    : context_(context),
      pair_(pair),
      type_(type),
      tried_(tried),
      length_(context.length_of(pair)),
      rounds_once_(is_half(type) && tried.found.not_finite == 0 && context.rounds_once(pair)) {}

std::optional<StrictFinding> ConditionedJudge::judge(int runs) {
  if (hopeless_) return std::nullopt;
  runs_ = runs;
  context_.conditioning.measure(runs, pair_.direction, pair_.leaf.path);
  spread_ = context_.conditioning.spread(pair_.direction, pair_.leaf.path);
  if (rounds_once_) {
    if (auto finding = judge_rounded_once()) return finding;
    if (!has_rounded_steps(context_, pair_, tried_.limits)) return std::nullopt;
  }
  return judge_rounded_steps();
}

// The CPU computes in float32 and rounds once, and so should the device.
std::optional<StrictFinding> ConditionedJudge::judge_rounded_once() {
  Limits limits = wide_limits(type_, length_, spread_);
  add_specials(limits);
  if (holds_with_usual_spreads(limits)) return within_spread(context_, pair_, tried_);
  return judge_cut(context_, pair_, type_, tried_);
}

// Intermediate results may have been rounded to the dtype of the result.
std::optional<StrictFinding> ConditionedJudge::judge_rounded_steps() {
  Limits limits = spread_limits(type_, length_, spread_);
  if (context_.allows_tf32(pair_)) {
    limits.add(Of::kSpread, 2 * kIntermediates * kTf32Moves, "8 * 8192 s");
  }
  add_specials(limits);
  if (holds_with_usual_spreads(limits)) {
    if (!context_.has_even_sums(pair_) || no_outlier(tried_.limits)) {
      return within_spread(context_, pair_, tried_);
    }
    limits = tried_.limits;
  } else if (auto finding = judge_cut(context_, pair_, type_, tried_)) {
    return finding;
  }
  return judge_with_native(std::move(limits));
}

// Of equally long sums, none may be much worse than the others: see "Sums and norms".
bool ConditionedJudge::no_outlier(const Limits& limits) {
  const auto holds_lowered = [&](const at::Tensor& terms) {
    const auto [lower, used] =
        as_others_need(limits, first_limits(type_), pair_.device, pair_.bench, terms);
    if (used > 1) return holds(lower);
    tried_.limits = lower;
    tried_.found.worst_inside = used;
    return true;
  };
  if (holds_lowered({})) return true;
  const at::Tensor terms = context_.terms_in(pair_);
  return terms.defined() && holds_lowered(terms);
}

std::optional<StrictFinding> ConditionedJudge::judge_with_native(Limits limits) {
  if (!context_.add_native(pair_, type_, limits)) return std::nullopt;
  const bool has_nan = tried_.found.not_finite > 0;
  if (holds_with_usual_spreads(limits)) return within_native(context_, pair_, tried_);
  hopeless_ = has_nan;
  // Neighbours take many runs, where few are likely to be enough.
  if (has_nan || runs_ == kRuns[0] || !context_.add_neighbours(pair_, limits)) return std::nullopt;
  if (holds(std::move(limits))) return within_native(context_, pair_, tried_);
  return std::nullopt;
}

void ConditionedJudge::add_specials(Limits& limits) {
  context_.add_kernel(pair_, type_, limits);
  context_.add_single(pair_, type_, limits);
}

bool ConditionedJudge::holds(Limits limits) {
  tried_.limits = std::move(limits);
  tried_.found = scan(pair_.device, pair_.bench, tried_.limits);
  return tried_.found.good();
}

bool ConditionedJudge::holds_with_usual_spreads(const Limits& limits) {
  if (holds(limits)) return true;
  // After few runs, the spreads of some elements are too small by chance.
  const Tried before = tried_;
  if (runs_ == kRuns[2] || !spread_.defined() || pair_.bench.is_complex() ||
      before.found.not_finite > 0 || before.found.beyond > before.found.count / kShareOfMany) {
    return false;
  }
  Limits usual = limits;
  usual.spreads = usual_spreads(spread_, pair_.bench);
  if (holds(std::move(usual))) return true;
  tried_ = before;
  return false;
}

}  // namespace msprobe::strict
