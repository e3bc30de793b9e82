// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_otherwise.h"

#include "libtorch/dtypes.h"
#include "strict/judge_conditioned.h"
#include "strict/random.h"
#include "strict/unique.h"

namespace msprobe::strict {
namespace {

std::optional<StrictFinding> judge_drawn(CallContext& context, const Pair& pair) {
  const auto type = float_type(pair.device.scalar_type());
  if (type && float_type(pair.bench.scalar_type()) && !context.is_exact(pair)) {
    if (auto finding = judge_same_draw(context, pair, *type)) return finding;
  }
  const auto& outputs = context.outcome.forward;
  const auto* forward = outputs.empty() ? nullptr : outputs.front().device.as<at::Tensor>();
  return judge_random(context.draws, context.name.bare_name, pair.direction, pair.leaf.path,
                      pair.device, forward == nullptr ? at::Tensor() : *forward,
                      context.conditioning.spread(pair.direction, pair.leaf.path), context.allowed);
}

std::optional<StrictFinding> judge_not_unique(CallContext& context, const Pair& pair) {
  const bool is_unique = context.traits().unique == ops::Unique::kEverything;
  if (pair.direction == Direction::kBackward || is_unique) return std::nullopt;
  const auto call = context.rerun.arguments();
  if (!call) return std::nullopt;
  const auto plain = [](const execute::PyValue& value) {
    const auto* tensor = value.as<at::Tensor>();
    return tensor == nullptr ? at::Tensor() : libtorch::plain(*tensor);
  };
  Outputs outputs;
  std::size_t place = 0;
  for (const execute::LeafPair& leaf : context.outcome.forward) {
    if (&leaf == &pair.leaf) place = outputs.bench.size();
    outputs.bench.push_back(plain(leaf.bench));
    outputs.device.push_back(plain(leaf.device));
  }
  return judge_unique(context.name.bare_name, **call, outputs, place);
}

}  // namespace

std::optional<StrictFinding> judge_otherwise(CallContext& context, const Pair& pair) {
  context.conditioning.measure(kRuns[0], pair.direction, pair.leaf.path);
  if (context.conditioning.random()) {
    if (auto finding = judge_drawn(context, pair)) return finding;
  }
  return judge_not_unique(context, pair);
}

}  // namespace msprobe::strict
