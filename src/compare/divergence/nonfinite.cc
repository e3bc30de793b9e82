// SPDX-License-Identifier: Apache-2.0
#include "divergence/nonfinite.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace msprobe::divergence {
namespace {

bool is_finite(const RunTensor& tensor) {
  return !tensor.has_range || (std::isfinite(tensor.max) && std::isfinite(tensor.min));
}

// -inf below finite values: so masks look.
bool looks_like_mask(const RunTensor& tensor) {
  return std::isfinite(tensor.max) && std::isinf(tensor.min);
}

bool all_finite(std::span<const RunTensor> tensors) {
  return std::ranges::all_of(tensors, is_finite);
}

class Walker {
 public:
  explicit Walker(std::span<const RankRun> ranks)
      : ranks_(ranks), meetings_(find_meetings(ranks)) {}

  NonFiniteWalk walk() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      made_.clear();
      for (std::uint32_t c = 0; c < ranks_[r].run->calls.size(); ++c) look({r, c});
      result_.calls += ranks_[r].run->calls.size();
    }
    std::ranges::stable_sort(result_.origins, {}, &NonFiniteCall::time);
    return std::move(result_);
  }

 private:
  void look(RankCall here) {
    const Trace& run = *ranks_[here.rank].run;
    const Call& call = run.calls[here.call];
    const auto outputs = run.outputs(call);
    if (all_finite(run.inputs(call))) {
      if (!all_finite(outputs)) judge(here, call, outputs);
    } else {
      look_for_outside(here, call);
      if (!all_finite(outputs)) ++result_.carrying;
    }
    for (const RunTensor& tensor : outputs) {
      if (!is_finite(tensor)) made_.insert(tensor.identity);
    }
  }

  void judge(RankCall here, const Call& call, std::span<const RunTensor> outputs) {
    if (call.makes_garbage || call.nonfinite_argument) return;
    NonFiniteCause cause = NonFiniteCause::kCall;
    if (call.communication >= 0) {
      cause = NonFiniteCause::kCommunication;
      const auto& sources =
          meetings_.sources[here.rank][static_cast<std::size_t>(call.communication)];
      const bool sent = std::ranges::any_of(sources, [this](const RankCall& source) {
        const Trace& run = *ranks_[source.rank].run;
        return !all_finite(run.inputs(run.calls[source.call]));
      });
      if (sent) {
        ++result_.carrying;
        return;
      }
    }
    const auto worst = std::ranges::find_if_not(outputs, is_finite) - outputs.begin();
    add(cause, here, call.first + call.inputs + static_cast<std::uint32_t>(worst));
  }

  // Each such tensor once, however often it is used.
  void look_for_outside(RankCall here, const Call& call) {
    const Trace& run = *ranks_[here.rank].run;
    for (std::uint32_t i = 0; i < call.inputs; ++i) {
      const RunTensor& tensor = run.tensors[call.first + i];
      if (is_finite(tensor) || looks_like_mask(tensor)) continue;
      if (call.communication >= 0 || !made_.insert(tensor.identity).second) continue;
      add(NonFiniteCause::kOutside, here, call.first + i);
      return;
    }
  }

  void add(NonFiniteCause cause, RankCall here, std::uint32_t tensor) {
    result_.origins.push_back({cause, here, tensor, meetings_.times[here.rank][here.call]});
  }

  std::span<const RankRun> ranks_;
  Meetings meetings_;
  NonFiniteWalk result_;
  std::unordered_set<std::uint64_t> made_;  // identities of what came out of calls of this rank
};

}  // namespace

NonFiniteWalk walk_nonfinite(std::span<const RankRun> ranks) { return Walker(ranks).walk(); }

}  // namespace msprobe::divergence
