// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_product.h"

#include "strict/bound.h"
#include "strict/product.h"

namespace msprobe::strict {
namespace {

constexpr std::string_view kAsUnit = ", as a matrix unit adds that cuts its sums";

}  // namespace

std::optional<ProductBound> product_bound(CallContext& context, const Pair& pair,
                                          const FloatType& type) {
  if (pair.device.is_complex() || type.eps < kFloatEps) return std::nullopt;
  if (pair.direction == Direction::kBackward && context.rerun.of_node()) return std::nullopt;
  const auto call = context.rerun.arguments();
  const auto arriving = context.rerun.arriving();
  if (!call || !arriving) return std::nullopt;
  const std::string_view name = context.name.bare_name;
  auto product = pair.direction == Direction::kForward
                     ? forward_product(name, **call)
                     : gradient_product(name, **call, **arriving, pair.leaf.path);
  if (!product || context.traits().form == ops::Form::kSum) return std::nullopt;
  return ProductBound::of(*std::move(product), pair.bench, type, context.allows_tf32(pair));
}

std::optional<StrictFinding> judge_product(CallContext& context, const Pair& pair,
                                           const FloatType& type, ProductBound& bound,
                                           Tried& tried) {
  const bool may_cut = context.device_sums() != probe::DeviceSums::kRounded;
  for (const bool walked : {false, true}) {
    if (walked) bound.walk_sums();
    tried.limits = bound.rounded(pair.device);
    tried.found = scan(pair.device, pair.bench, tried.limits);
    if (tried.found.good()) return within(tried.found, ", from the sizes of its terms");
    if (!may_cut) continue;
    const Scan cut = scan(pair.device, pair.bench, bound.cut(pair.device));
    if (!cut.good()) continue;
    if (bound.has_faulty_terms(pair.device)) return std::nullopt;
    return within(cut, kAsUnit);
  }
  if (is_half(type) && context.rounds_once(pair)) return std::nullopt;
  if (!context.add_native(pair, type, tried.limits)) return std::nullopt;
  tried.found = scan(pair.device, pair.bench, tried.limits);
  if (tried.found.good()) return within_native(context, pair, tried);
  return std::nullopt;
}

std::optional<StrictFinding> judge_cut(CallContext& context, const Pair& pair,
                                       const FloatType& type, const Tried& tried) {
  if (!ops::is_product(context.traits()) || type.eps < kFloatEps) return std::nullopt;
  if (pair.device.is_complex() || !tried.limits.spreads.defined() || tried.found.not_finite > 0 ||
      context.device_sums() == probe::DeviceSums::kRounded) {
    return std::nullopt;
  }
  const double terms = context.unit_length_of(pair);
  const Scan cut =
      scan(pair.device, pair.bench, cut_limits(type, terms, tried.limits, pair.device, pair.bench));
  return cut.good() ? std::optional(within(cut, kAsUnit)) : std::nullopt;
}

}  // namespace msprobe::strict
