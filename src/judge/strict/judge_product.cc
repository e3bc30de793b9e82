// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_product.h"

#include "strict/bound.h"
#include "strict/product.h"

namespace msprobe::strict {
namespace {

constexpr std::string_view kAsUnit = ", as for a matrix unit that cuts its sums";
constexpr std::string_view kFromTerms = ", from the sizes of its terms";

}  // namespace

bool is_product_form(const CallContext& context) {
  const ops::Form form = context.traits().form;
  return form != ops::Form::kOther && form != ops::Form::kSum;
}

std::optional<Product> product_of(CallContext& context, const Pair& pair, const FloatType& type) {
  if (!is_product_form(context) || pair.device.is_complex() || type.eps < kFloatEps) {
    return std::nullopt;
  }
  if (pair.direction == Direction::kBackward && context.rerun.of_node()) return std::nullopt;
  const std::string_view name = context.name.bare_name;
  const auto arriving = context.rerun.arriving();
  // As they were built for the call itself, where it left them alone.
  const arguments::PyCall* call = &context.outcome.arguments.call;
  if (name.ends_with('_')) {
    const auto built = context.rerun.arguments();
    call = built ? *built : nullptr;
  }
  if (call == nullptr || !arriving) return std::nullopt;
  return pair.direction == Direction::kForward
             ? forward_product(name, *call)
             : gradient_product(name, *call, **arriving, pair.leaf.path);
}

std::optional<ProductBound> product_bound(CallContext& context, const Pair& pair,
                                          const FloatType& type) {
  auto product = product_of(context, pair, type);
  if (!product) return std::nullopt;
  return ProductBound::of(*std::move(product), pair.bench, type, context.allows_tf32(pair));
}

std::optional<StrictFinding> judge_product(CallContext& context, const Pair& pair,
                                           const FloatType& type, ProductBound& bound,
                                           Tried& tried) {
  const bool may_cut = context.device_sums(pair) != probe::DeviceSums::kRounded;
  Explanation seen = bound.explain(pair.device, may_cut);
  if (seen.arithmetic != Arithmetic::kUnexplained) {
    return within(seen.found, seen.arithmetic == Arithmetic::kCut ? kAsUnit : kFromTerms);
  }
  tried = {std::move(seen.limits), seen.found};
  if (tried.found.not_finite > 0) return std::nullopt;  // no bound of a product explains that
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
      context.device_sums(pair) == probe::DeviceSums::kRounded) {
    return std::nullopt;
  }
  const double terms = context.unit_length_of(pair);
  const Scan cut =
      scan(pair.device, pair.bench, cut_limits(type, terms, tried.limits, pair.device, pair.bench));
  return cut.good() ? std::optional(within(cut, kAsUnit)) : std::nullopt;
}

}  // namespace msprobe::strict
