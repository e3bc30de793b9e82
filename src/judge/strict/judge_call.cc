// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_call.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "execute/caught.h"
#include "execute/scaled_operators.h"
#include "libtorch/dtypes.h"
#include "strict/call_context.h"
#include "strict/doubts.h"
#include "strict/judge_by_card.h"
#include "strict/judge_by_formula.h"
#include "strict/judges.h"
#include "strict/result_type.h"
#include "strict/steps.h"
#include "strict/strict_value.h"

namespace msprobe::strict {
namespace {

using execute::CallOutcome;
using execute::LeafPair;

class CallJudge {
 public:
  CallJudge(const dump::CallRecord& record, const execute::ExecuteOptions& options,
            const CallOutcome& outcome, const StrictOptions& allowed)
      : context_(record, options, outcome, allowed) {}

  StrictFinding judge(const LeafPair& leaf, Direction direction) {
    if (leaf.state == LeafPair::State::kDeviceMissing) {
      return wrong("the device returned fewer outputs", "missing output");
    }
    if (leaf.state == LeafPair::State::kKeysDiffer) return wrong("dictionaries with other keys");
    // Recorded gradients list what is positional.
    if (context_.recorded && leaf.of_keyword && leaf.device.is_none()) {
      return {Verdict::kSkip, "the gradient of a keyword argument was not recorded", ""};
    }
    if (leaf.bench.is_none()) return {Verdict::kSkip, "the benchmark gives None", ""};
    const LeafTensors& benches = context_.benchmark.tensors;
    const auto bench = benches.find({direction, leaf.path});
    const auto* device = leaf.device.as<at::Tensor>();
    if (bench != benches.end() && leaf.device.is_none()) {
      return wrong("the device returned None, the benchmark a tensor", "missing output");
    }
    if (bench == benches.end() || device == nullptr) return judge_value(leaf);
    const Pair pair{leaf, direction, libtorch::plain(bench->second), libtorch::plain(*device)};
    StrictFinding finding = judge_tensor(pair);
    if (is_alarm(finding)) finding = judge_in_hf32(pair, finding);
    const std::string_view why = why_little(pair.device);
    if (is_right(finding) && !why.empty()) doubt(finding, why);
    return finding;
  }

  int runs() const { return context_.rerun.runs(); }

 private:
  StrictFinding judge_in_hf32(const Pair& pair, const StrictFinding& otherwise) {
    for (const LeafTensors& benches : context_.in_hf32()) {
      const auto bench = benches.find({pair.direction, pair.leaf.path});
      if (bench == benches.end()) continue;
      const StrictFinding finding =
          judge_tensor({pair.leaf, pair.direction, libtorch::plain(bench->second), pair.device});
      if (!is_alarm(finding)) return finding;
    }
    return otherwise;
  }

  StrictFinding judge_tensor(const Pair& pair) {
    if (pair.bench.sizes() != pair.device.sizes()) {
      return wrong(
          fmt::format("shape ({}), the benchmark's is ({})", fmt::join(pair.device.sizes(), ", "),
                      fmt::join(pair.bench.sizes(), ", ")),
          fmt::format("wrong shape: {} elements for {}", pair.device.numel(), pair.bench.numel()));
    }
    if (const auto wanted = other_type(pair)) {
      return wrong(fmt::format("dtype {}, recorded is {}",
                               libtorch::text(pair.device.scalar_type()), libtorch::text(*wanted)),
                   "wrong dtype");
    }
    if (pair.device.numel() > 0) {
      if (auto finding = formula_.judge(pair)) return *finding;
    }
    if (auto finding = judge_alone(context_, pair)) return *finding;
    return judge_floats(pair, *float_type(pair.device.scalar_type()));
  }

  // The dtype that was recorded (of a gradient: that of its input), where neither the device nor
  // the CPU in this PyTorch gives another one.
  std::optional<at::ScalarType> other_type(const Pair& pair) {
    const auto recorded = pair.direction == Direction::kForward
                              ? recorded_output_type(context_.record, pair.leaf.path)
                              : gradient_type(pair.leaf.path);
    const at::ScalarType given = pair.device.scalar_type();
    if (!recorded || *recorded == given) return std::nullopt;
    if (context_.outcome.arguments.float8_input) {
      // Products with scales are told the dtype of their result; others may widen codes.
      const bool is_told = pair.direction == Direction::kForward &&
                           execute::find_benchmark(context_.name.bare_name) != nullptr;
      return is_told ? recorded : std::nullopt;
    }
    if (context_.wide_gradients && pair.direction == Direction::kBackward) return std::nullopt;
    if (context_.recorded && pair.direction == Direction::kBackward &&
        has_type(context_.outcome.arriving, given)) {
      return std::nullopt;  // recorded at a node inside the call, behind what autocast converted
    }
    const at::Tensor* native = context_.conditioning.native(pair.direction, pair.leaf.path);
    if (native == nullptr || native->scalar_type() == given) return std::nullopt;
    return recorded;
  }

  std::optional<at::ScalarType> gradient_type(const std::string& path) {
    if (context_.rerun.of_node()) return std::nullopt;
    return input_type(context_.outcome.arguments.call, path);
  }

  StrictFinding judge_floats(const Pair& given, const FloatType& type) {
    Pair pair = given;
    if (!float_type(pair.bench.scalar_type())) pair.bench = pair.bench.to(at::kDouble);
    const auto card = judge_by_card(context_, pair, type);
    if (card && card->certain) return card->finding;
    const StrictFinding finding = judge_by_bound(context_, pair, type);
    return card && is_right(finding) ? card->finding : finding;
  }

  CallContext context_;
  FormulaJudge formula_{context_};
};

// A wrong gradient of a right output points at the backward kernel.
void say_gradient_only(Findings& findings) {
  if (std::ranges::any_of(findings.forward, is_alarm)) return;
  for (StrictFinding& finding : findings.backward) {
    if (!is_alarm(finding)) continue;
    finding.cause += finding.cause.empty() ? "gradient only" : "; gradient only";
  }
}

}  // namespace

Findings judge_call(const dump::CallRecord& record, const execute::ExecuteOptions& options,
                    const CallOutcome& outcome, const StrictOptions& allowed) {
  CallJudge judge(record, options, outcome, allowed);
  const auto judge_all = [&](const std::vector<LeafPair>& pairs, Direction direction) {
    std::vector<StrictFinding> findings;
    findings.reserve(pairs.size());
    for (const LeafPair& pair : pairs) {
      const auto finding =
          execute::caught(SkipReason::kDeviceFailed, [&] { return judge.judge(pair, direction); });
      findings.push_back(finding ? *finding
                                 : StrictFinding{Verdict::kSkip, finding.error().text, ""});
    }
    return findings;
  };
  Findings findings{judge_all(outcome.forward, Direction::kForward),
                    judge_all(outcome.backward, Direction::kBackward)};
  findings.runs = judge.runs();
  say_gradient_only(findings);
  return findings;
}

}  // namespace msprobe::strict
