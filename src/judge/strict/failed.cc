// SPDX-License-Identifier: Apache-2.0
#include "strict/failed.h"

#include "libtorch/dtypes.h"
#include "strict/error_map.h"
#include "strict/explain.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

// True if every wrong element is NaN or infinite as the CPU's is in this dtype: the formula is to
// blame, which says nothing about the device.
bool formula_fails(CallContext& context, const Pair& pair, const Scan& found) {
  if (found.not_finite == 0 || found.beyond != found.not_finite) return false;
  const at::Tensor* native = context.native(pair);
  return native != nullptr && same_specials(pair.device, *native);
}

// The benchmarks of the other outputs that this one may have been swapped with.
std::vector<at::Tensor> other_benches(const LeafTensors& benches, const Pair& pair) {
  std::vector<at::Tensor> others;
  for (const auto& [key, tensor] : benches) {
    const bool other = key.first == pair.direction && key.second != pair.leaf.path;
    if (other && tensor.sizes() == pair.device.sizes() &&
        tensor.scalar_type() == pair.bench.scalar_type()) {
      others.push_back(libtorch::plain(tensor));
    }
  }
  return others;
}

}  // namespace

StrictFinding failed(CallContext& context, const Pair& pair, const FloatType& type,
                     const Tried& tried) {
  const Limits& limits = tried.limits;
  const Scan found = scan(pair.device, pair.bench, limits);
  std::string excess = excess_text(found, pair.device, pair.bench);
  if (formula_fails(context, pair, found)) {
    return {Verdict::kSkip,
            "the formula is not finite in this dtype, not even on the CPU: " + excess, ""};
  }
  const auto& [how, benches] = context.benchmark;
  const Failure failure{pair.device,
                        pair.bench,
                        limits,
                        type,
                        pair.direction,
                        pair.leaf.path,
                        context.name.bare_name,
                        other_benches(benches, pair),
                        how};
  const bool slight = found.not_finite == 0 && found.worst <= kWarningExcess;
  StrictFinding finding{
      slight ? Verdict::kWarning : Verdict::kError, std::move(excess),
      context.allowed.cause_of(failure, &context.rerun),
      error_map(pair.device, pair.bench, over_bound(pair.device, pair.bench, limits)),
      excess_number(found)};
  add_explanation(context, pair, limits, "no step: the widest bound that was tried is exceeded",
                  context.length_of(pair), finding);
  return finding;
}

}  // namespace msprobe::strict
