// SPDX-License-Identifier: Apache-2.0
#include "strict/steps.h"

#include <optional>
#include <string_view>
#include <utility>

#include "strict/bound.h"
#include "strict/explain.h"
#include "strict/failed.h"
#include "strict/judge_conditioned.h"
#include "strict/judge_otherwise.h"
#include "strict/judge_product.h"

namespace msprobe::strict {
namespace {

constexpr std::string_view kAsMindSpore = ", as MindSpore's kernel computes it";

// One result on its way through the steps.
struct Trial {
  CallContext& context;
  const Pair& pair;
  const FloatType& type;
  const bool exact = context.is_exact(pair);
  const bool product = !exact && is_product_form(context);
  Tried tried = {};
  std::optional<ConditionedJudge> conditioned = {};

  bool holds(Limits limits, Look look = Look::kWhole) {
    tried = {std::move(limits), {}};
    tried.found = scan(pair.device, pair.bench, tried.limits, look);
    return tried.found.good();
  }
  StrictFinding pass(std::string_view step, std::string_view how = "") const {
    StrictFinding finding = within(tried.found, how);
    add_explanation(context, pair, tried.limits, step, 0, finding);
    return finding;
  }
};

// A finding decides; nothing: the next step is tried.
using Attempt = std::optional<StrictFinding> (*)(Trial& trial);

std::optional<StrictFinding> try_identical(Trial& trial) {
  if (!trial.context.is_identical(trial.pair)) return std::nullopt;
  return within({.count = trial.pair.device.numel()}, "");
}

std::optional<StrictFinding> try_exact(Trial& trial) {
  if (trial.exact && trial.holds({})) return trial.pass("exact: nothing may differ");
  return std::nullopt;
}

std::optional<StrictFinding> try_roundings(Trial& trial) {
  if (trial.exact) return std::nullopt;
  // Of half types, what is not finite decides about the steps that follow.
  const Look look = is_half(trial.type) ? Look::kWhole : Look::kUntilBeyond;
  if (trial.holds(trial.product ? product_limits(trial.type) : first_limits(trial.type), look)) {
    return trial.pass("few roundings");
  }
  return std::nullopt;
}

std::optional<StrictFinding> try_mindspore(Trial& trial) {
  Limits wider = trial.tried.limits;
  if (!trial.context.add_kernel(trial.pair, trial.type, wider) || !trial.holds(std::move(wider))) {
    return std::nullopt;
  }
  return trial.pass("kernels of MindSpore", kAsMindSpore);
}

std::optional<StrictFinding> try_product(Trial& trial) {
  auto& [context, pair, type, exact, product, tried, conditioned] = trial;
  if (!product || tried.found.not_finite > 0) return std::nullopt;
  auto bound = product_bound(context, pair, type);
  if (!bound) return std::nullopt;
  if (auto finding = judge_product(context, pair, type, *bound, tried)) return finding;
  if (bound->one_way() && tried.found.not_finite == 0) return failed(context, pair, type, tried);
  return std::nullopt;
}

std::optional<StrictFinding> try_derivatives(Trial& trial) {
  return judge_derived(trial.context, trial.pair, trial.type);
}

std::optional<StrictFinding> try_other_answers(Trial& trial) {
  return judge_otherwise(trial.context, trial.pair);
}

template <int kNumber>
std::optional<StrictFinding> try_runs(Trial& trial) {
  if (trial.exact) return std::nullopt;
  if (!trial.conditioned) {
    trial.conditioned.emplace(trial.context, trial.pair, trial.type, trial.tried);
  }
  return trial.conditioned->judge(kRuns[kNumber]);
}

struct Step {
  std::string_view name;  // as in README.md
  Attempt attempt;
};
constexpr Step kSteps[] = {
    {"identical", &try_identical},
    {"exact", &try_exact},
    {"few roundings", &try_roundings},
    {"kernels of MindSpore", &try_mindspore},
    {"products", &try_product},
    {"derivatives", &try_derivatives},
    {"other answers", &try_other_answers},
    {"1 run", &try_runs<0>},
    {"3 runs", &try_runs<1>},
    {"12 runs", &try_runs<2>},
};

}  // namespace

StrictFinding judge_by_bound(CallContext& context, const Pair& pair, const FloatType& type) {
  Trial trial{context, pair, type};
  for (const Step& step : kSteps) {
    if (auto finding = step.attempt(trial)) return *finding;
  }
  return failed(context, pair, type, trial.tried);
}

}  // namespace msprobe::strict
