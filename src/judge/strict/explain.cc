// SPDX-License-Identifier: Apache-2.0
#include "strict/explain.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "strict/bound.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

// Of a complex element, the modulus.
double size_at(const at::Tensor& sizes, std::int64_t place, std::int64_t elements) {
  if (!sizes.defined()) return 0;
  const at::Tensor all = real_parts(sizes).flatten();
  const auto at = [&](std::int64_t i) { return all[i].item<double>(); };
  const double size =
      all.numel() == elements ? std::abs(at(place)) : std::hypot(at(2 * place), at(2 * place + 1));
  return std::isfinite(size) ? size : 0;
}

double error_at(const at::Tensor& device, const at::Tensor& bench, std::int64_t place,
                double drift) {
  const at::Tensor d = device.flatten()[place];
  const at::Tensor b = bench.flatten()[place];
  if (device.is_complex()) {
    return at::view_as_real(d.to(at::kComplexDouble) - b.to(at::kComplexDouble))
        .abs()
        .max()
        .item<double>();
  }
  const double away = d.to(at::kDouble).item<double>() - b.to(at::kDouble).item<double>();
  return std::min(std::abs(away), std::abs(away - drift));
}

std::string text_of(const Explained& found, const Pair& pair, std::string_view step, double n) {
  const FloatType type = *float_type(pair.device.scalar_type());
  std::string text = fmt::format("decided by: {}\nelement {}: device {}, bench {}, error {}\n",
                                 step, place_text(pair.device.sizes(), found.place),
                                 element_text(pair.device, found.place),
                                 element_text(pair.bench, found.place), digits_text(found.error));
  text += fmt::format("eps = {}, eps_a = {}, tiny = {}", digits_text(type.eps),
                      digits_text(type.accumulator_eps), digits_text(type.smallest));
  text += n > 0 ? fmt::format(", n = {}\n", n) : "\n";
  if (found.drift != 0) {
    text += fmt::format("the sum drifts by {} on this device\n", digits_text(found.drift));
  }
  std::size_t widest = 0;
  for (const ExplainedTerm& term : found.terms) widest = std::max(widest, term.formula.size());
  for (const ExplainedTerm& term : found.terms) {
    text +=
        fmt::format("  {:<{}}  {:>11} x {:<11} = {}\n", term.formula, widest,
                    digits_text(term.coefficient), digits_text(term.size), digits_text(term.limit));
  }
  text += fmt::format("bound {}, error over bound {}\n", digits_text(found.bound),
                      found.bound > 0 ? number_text(found.error / found.bound) : "-");
  return text;
}

}  // namespace

Explained explain(const at::Tensor& device, const at::Tensor& bench, const Limits& limits) {
  Explained found;
  const std::int64_t count = device.numel();
  found.place = over_bound(device, bench, limits).flatten().argmax().item<std::int64_t>();
  const FloatType type = *float_type(device.scalar_type());
  const double size = size_at(bench, found.place, count);
  for (const Term& term : limits.terms) {
    ExplainedTerm shown{term.formula, term.coefficient, 1, 0};
    if (term.of == Of::kBench) shown.size = size;
    if (term.of == Of::kUnit) shown.size = unit_of(size, type);
    if (term.of == Of::kSpread) shown.size = size_at(limits.spreads, found.place, count);
    if (term.of == Of::kNative) shown.size = size_at(limits.natives, found.place, count);
    if (term.of == Of::kSizes) shown.size = size_at(term.sizes, found.place, count);
    shown.limit = shown.coefficient * shown.size;
    if (term.of == Of::kNative) shown.limit = std::min(shown.limit, limits.native_cap);
    found.bound += shown.limit;
    found.terms.push_back(shown);
  }
  const double least = limits.least_relative * size + limits.least_absolute;
  if (least > found.bound) {
    found.terms = {{"4 eps |b| + 4 tiny, which always holds", 1, least, least}};
    found.bound = least;
  }
  if (limits.drifts.defined()) {
    found.drift = limits.drifts.flatten()[found.place].item<double>();
  }
  found.error = error_at(device, bench, found.place, found.drift);
  return found;
}

void add_explanation(const CallContext& context, const Pair& pair, const Limits& limits,
                     std::string_view step, double n, StrictFinding& finding) {
  if (!context.options.replay().explain || pair.device.numel() == 0) return;
  finding.explanation = text_of(explain(pair.device, pair.bench, limits), pair, step, n);
}

}  // namespace msprobe::strict
