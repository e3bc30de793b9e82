// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_call.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "execute/caught.h"
#include "libtorch/dtypes.h"
#include "strict/bound.h"
#include "strict/call_context.h"
#include "strict/cause.h"
#include "strict/doubts.h"
#include "strict/error_map.h"
#include "strict/judge_by_card.h"
#include "strict/judge_conditioned.h"
#include "strict/judge_product.h"
#include "strict/result_type.h"
#include "strict/strict_value.h"
#include "strict/unique.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

using execute::CallOutcome;
using execute::LeafPair;
// Up to this many bounds an excess is a warning.
constexpr double kWarningExcess = 4;
constexpr std::string_view kAsMindSpore = ", as MindSpore's kernel computes it";

// Whether the first of many elements are enough to see that limits are too small.
bool first_elements_exceed(const Pair& pair, const Limits& limits) {
  constexpr std::int64_t kMany = 1 << 15;
  constexpr std::int64_t kSome = 1 << 11;
  if (pair.device.numel() < kMany) return false;
  const auto some = [](const at::Tensor& all) { return all.flatten().narrow(0, 0, kSome); };
  return !scan(some(pair.device), some(pair.bench), limits).good();
}

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
    if (finding.status == Verdict::kError && context_.recorded)
      finding = judge_last_node(pair, finding);
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

  // What was recorded as the gradient of cross_entropy is that of its last node.
  StrictFinding judge_last_node(const Pair& pair, const StrictFinding& otherwise) {
    const auto call = context_.rerun.arguments();
    if (context_.name.bare_name != "cross_entropy" || pair.direction == Direction::kForward ||
        !call || (*call)->args.empty()) {
      return otherwise;
    }
    const auto* logits = (*call)->args.front().as<at::Tensor>();
    if (logits == nullptr || logits->sizes() != pair.device.sizes()) return otherwise;
    Pair at_logits = pair;
    at_logits.device = gradient_at_logits(pair.device, *logits);
    StrictFinding finding = judge_tensor(at_logits);
    if (!is_right(finding)) return otherwise;
    finding.reason = "recorded at its last node, nll_loss: " + finding.reason;
    return finding;
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
    if (pair.device.numel() == 0) return passed("nothing to compare");
    const auto type = float_type(pair.device.scalar_type());
    return type ? judge_floats(pair, *type) : judge_integers(pair);
  }

  // The dtype that was recorded (of a gradient: that of its input), where neither the device nor
  // the CPU in this PyTorch gives another one.
  std::optional<at::ScalarType> other_type(const Pair& pair) {
    const auto recorded = pair.direction == Direction::kForward
                              ? recorded_output_type(context_.record, pair.leaf.path)
                              : gradient_type(pair.leaf.path);
    const at::ScalarType given = pair.device.scalar_type();
    if (!recorded || *recorded == given || context_.outcome.arguments.float8_input)
      return std::nullopt;
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

  // An element may differ where a rounding of the inputs changes it.
  StrictFinding judge_integers(const Pair& pair) {
    if (same_bytes(pair.bench, pair.device)) return equal("equal");
    at::Tensor differ = pair.bench.ne(pair.device);
    if (!differ.any().item<bool>()) return equal("equal");
    if (auto finding = judge_otherwise(pair)) return *finding;
    for (const int runs : kRuns) {
      if (context_.traits().exact && pair.device.scalar_type() != at::kLong) break;
      context_.conditioning.measure(runs, pair.direction, pair.leaf.path);
      const at::Tensor spread = context_.conditioning.spread(pair.direction, pair.leaf.path);
      if (!spread.defined()) break;
      const at::Tensor off = (pair.bench.to(at::kDouble) - pair.device.to(at::kDouble)).abs();
      differ = off.gt(spread);
      if (!differ.any().item<bool>()) {
        return passed("differs only where a rounding of the inputs changes the result");
      }
    }
    const auto first = differ.flatten().to(at::kByte).argmax().item<std::int64_t>();
    StrictFinding finding = wrong(
        fmt::format("{} of {} elements differ, first at {}", differ.sum().item<std::int64_t>(),
                    differ.numel(), place_text(pair.device.sizes(), first)),
        whole_number_cause(pair.device, pair.bench, pair.direction));
    const at::Tensor over = differ.to(at::kDouble) * std::numeric_limits<double>::max();
    finding.map = error_map(pair.device, pair.bench, over);
    finding.error_over_bound = std::numeric_limits<double>::infinity();
    return finding;
  }

  // Random and not unique results, which need not be the benchmark's element by element.
  std::optional<StrictFinding> judge_otherwise(const Pair& pair) {
    context_.conditioning.measure(kRuns[0], pair.direction, pair.leaf.path);
    if (context_.conditioning.random()) {
      const auto type = float_type(pair.device.scalar_type());
      if (type && float_type(pair.bench.scalar_type()) && !is_exact(pair)) {
        if (auto finding = judge_same_draw(context_, pair, *type)) return finding;
      }
      const auto* forward = context_.outcome.forward.empty()
                                ? nullptr
                                : context_.outcome.forward.front().device.as<at::Tensor>();
      auto finding =
          judge_random(context_.draws, context_.name.bare_name, pair.direction, pair.leaf.path,
                       pair.device, forward == nullptr ? at::Tensor() : *forward,
                       context_.conditioning.spread(pair.direction, pair.leaf.path));
      if (finding) return finding;
    }
    const bool is_unique = context_.traits().unique == ops::Unique::kEverything;
    if (pair.direction == Direction::kBackward || is_unique) return std::nullopt;
    const auto call = context_.rerun.arguments();
    if (!call) return std::nullopt;
    Outputs outputs;
    std::size_t place = 0;
    for (std::size_t i = 0; i < context_.outcome.forward.size(); ++i) {
      const auto* bench = context_.outcome.forward[i].bench.as<at::Tensor>();
      const auto* device = context_.outcome.forward[i].device.as<at::Tensor>();
      outputs.bench.push_back(bench == nullptr ? at::Tensor() : libtorch::plain(*bench));
      outputs.device.push_back(device == nullptr ? at::Tensor() : libtorch::plain(*device));
      if (&context_.outcome.forward[i] == &pair.leaf) place = i;
    }
    return judge_unique(context_.name.bare_name, **call, outputs, place);
  }

  StrictFinding judge_floats(const Pair& given, const FloatType& type) {
    Pair pair = given;
    if (!float_type(pair.bench.scalar_type())) pair.bench = pair.bench.to(at::kDouble);
    if (pair.bench.is_complex() != pair.device.is_complex()) return wrong("real against complex");
    const auto card = judge_by_card(context_, pair, type);
    if (card && card->certain) return card->finding;
    const StrictFinding finding = judge_by_bound(pair, type);
    return card && is_right(finding) ? card->finding : finding;
  }

  StrictFinding judge_by_bound(const Pair& pair, const FloatType& type) {
    if (is_identical(pair)) return within({.count = pair.device.numel()}, "");
    const bool exact = is_exact(pair);
    const bool product = !exact && is_product_form(context_);
    Tried tried;
    const auto compare = [&](Limits limits) {
      tried = {std::move(limits), {}};
      tried.found = scan(pair.device, pair.bench, tried.limits);
      return tried.found.good();
    };
    Limits first = exact ? Limits{} : product ? product_limits(type) : first_limits(type);
    if (!exact && !is_half(type) && first_elements_exceed(pair, first)) {
      tried.limits = std::move(first);
    } else if (compare(std::move(first))) {
      return within(tried.found, "");
    }
    if (Limits wider = tried.limits; context_.add_kernel(pair, type, wider)) {
      if (compare(wider)) return within(tried.found, kAsMindSpore);
    }
    if (product && tried.found.not_finite == 0) {
      if (auto bound = product_bound(context_, pair, type)) {
        if (auto finding = judge_product(context_, pair, type, *bound, tried)) return *finding;
        if (bound->one_way() && tried.found.not_finite == 0) return failed(pair, type, tried);
      } else if (is_half(type)) {  // something of it was rounded before, as of a sum of products
        if (compare(first_limits(type))) return within(tried.found, "");
      }
    }
    if (auto finding = judge_derived(context_, pair, type)) return *finding;
    if (auto finding = judge_otherwise(pair)) return *finding;
    if (!exact) {
      if (auto finding = judge_conditioned(context_, pair, type, tried)) return *finding;
    }
    return failed(pair, type, tried);
  }

  // Whether that is known of the benchmark that counts here.
  bool is_identical(const Pair& pair) const {
    const auto* measured = pair.leaf.bench.as<at::Tensor>();
    if (!pair.leaf.identical || measured == nullptr) return false;
    const auto bench = context_.benchmark.tensors.find({pair.direction, pair.leaf.path});
    return bench != context_.benchmark.tensors.end() && bench->second.is_same(*measured);
  }

  bool is_exact(const Pair& pair) const {
    return pair.direction == Direction::kForward && context_.traits().exact;
  }

  // Whether all that is wrong are elements that are NaN or infinite just as the CPU's in the same
  // dtype are: a weakness of the formula in this dtype, which says nothing of the device.
  bool formula_fails(const Pair& pair, const Scan& found) {
    if (found.not_finite == 0 || found.beyond != found.not_finite) return false;
    const at::Tensor* native = context_.native(pair);
    return native != nullptr && same_specials(pair.device, *native);
  }

  StrictFinding failed(const Pair& pair, const FloatType& type, const Tried& tried) {
    const auto& [limits, found] = tried;
    const Scan placed = scan_with_places(pair.device, pair.bench, limits);
    if (formula_fails(pair, found)) {
      return {Verdict::kSkip,
              "the formula is not finite in this dtype, not even on the CPU: " +
                  excess_text(placed, pair.device, pair.bench),
              ""};
    }
    const auto& [how, benches] = context_.benchmark;
    Failure failure{pair.device,
                    pair.bench,
                    limits,
                    type,
                    pair.direction,
                    pair.leaf.path,
                    context_.name.bare_name,
                    {},
                    how};
    for (const auto& [key, tensor] : benches) {
      const bool other = key.first == pair.direction && key.second != pair.leaf.path;
      if (other && tensor.sizes() == pair.device.sizes() &&
          tensor.scalar_type() == pair.bench.scalar_type()) {
        failure.other_benches.push_back(libtorch::plain(tensor));
      }
    }
    const bool slight = found.not_finite == 0 && found.worst <= kWarningExcess;
    return {slight ? Verdict::kWarning : Verdict::kError,
            excess_text(placed, pair.device, pair.bench), likely_cause(failure, context_.rerun),
            error_map(pair.device, pair.bench, over_bound(pair.device, pair.bench, limits)),
            excess_number(placed)};
  }

  CallContext context_;
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
