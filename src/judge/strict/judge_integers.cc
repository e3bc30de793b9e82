// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_integers.h"

#include <limits>

#include <fmt/format.h>

#include "strict/error_map.h"
#include "strict/judge_conditioned.h"
#include "strict/judge_otherwise.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

StrictFinding different(const CallContext& context, const Pair& pair, const at::Tensor& differ) {
  Failure failure;  // whole numbers show the same patterns, without a bound
  failure.device = pair.device.to(at::kDouble);
  failure.bench = pair.bench.to(at::kDouble);
  failure.type = *float_type(at::kDouble);
  failure.direction = pair.direction;
  const auto first = differ.flatten().to(at::kByte).argmax().item<std::int64_t>();
  StrictFinding finding =
      wrong(fmt::format("{} of {} elements differ, first at {}", differ.sum().item<std::int64_t>(),
                        differ.numel(), place_text(pair.device.sizes(), first)),
            context.allowed.cause_of(failure));
  const at::Tensor over = differ.to(at::kDouble) * std::numeric_limits<double>::max();
  finding.map = error_map(pair.device, pair.bench, over);
  finding.error_over_bound = std::numeric_limits<double>::infinity();
  return finding;
}

}  // namespace

std::optional<StrictFinding> judge_integers(CallContext& context, const Pair& pair) {
  if (float_type(pair.device.scalar_type())) return std::nullopt;
  if (same_bytes(pair.bench, pair.device)) return equal("equal");
  at::Tensor differ = pair.bench.ne(pair.device);
  if (!differ.any().item<bool>()) return equal("equal");
  if (auto finding = judge_otherwise(context, pair)) return finding;
  // An exact operator gives other indices where values tie, and no other numbers.
  if (context.traits().exact && pair.device.scalar_type() != at::kLong) {
    return different(context, pair, differ);
  }
  for (const int runs : kRuns) {
    context.conditioning.measure(runs, pair.direction, pair.leaf.path);
    const at::Tensor spread = context.conditioning.spread(pair.direction, pair.leaf.path);
    if (!spread.defined()) break;
    const at::Tensor off = (pair.bench.to(at::kDouble) - pair.device.to(at::kDouble)).abs();
    differ = off.gt(spread);
    if (!differ.any().item<bool>()) {
      return passed("differs only where a rounding of the inputs changes the result");
    }
  }
  return different(context, pair, differ);
}

}  // namespace msprobe::strict
