// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_product.h"

#include "strict/bound.h"
#include "strict/explain.h"
#include "strict/product.h"

namespace msprobe::strict {
namespace {

constexpr std::string_view kAsUnit = ", as for a matrix unit that cuts its sums";
constexpr std::string_view kFromTerms = ", from the sizes of its terms";

// The limits of that bound, every term named. Of a few elements all terms may have been looked at,
// and of the others some.
Limits with_terms(ProductBound& bound, const Pair& pair, Arithmetic arithmetic) {
  Limits limits = bound.explained(pair.device, arithmetic);
  if (arithmetic == Arithmetic::kUnexplained || scan(pair.device, pair.bench, limits).good()) {
    return limits;
  }
  bound.take_terms(bound.terms());
  return bound.explained(pair.device, arithmetic);
}

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
    const bool cuts = seen.arithmetic == Arithmetic::kCut;
    StrictFinding finding = within(seen.found, cuts ? kAsUnit : kFromTerms);
    if (context.options.replay().explain) {
      add_explanation(context, pair, with_terms(bound, pair, seen.arithmetic),
                      cuts ? "products, of a matrix unit that cuts" : "products",
                      bound.added_terms(), finding);
    }
    return finding;
  }
  tried = {std::move(seen.limits), seen.found};
  if (context.options.replay().explain) tried.limits = with_terms(bound, pair, seen.arithmetic);
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
  const Limits limits = cut_limits(type, terms, tried.limits, pair.device, pair.bench);
  const Scan found = scan(pair.device, pair.bench, limits);
  if (!found.good()) return std::nullopt;
  StrictFinding finding = within(found, kAsUnit);
  add_explanation(context, pair, limits, "conditioning, of a matrix unit that cuts", terms,
                  finding);
  return finding;
}

}  // namespace msprobe::strict
