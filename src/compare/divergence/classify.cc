// SPDX-License-Identifier: Apache-2.0
#include "divergence/classify.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "divergence/tensor_table.h"

namespace msprobe::divergence {
namespace {

// A result this many spacings of its inputs' size, or smaller, is what rounding leaves when large
// numbers cancel.
constexpr double kCancellationSpacings = 8;
// Sums are accumulated in float32 at least.
constexpr double kAccumulatorSpacing = 0x1p-23;

double largest_of(const RunTensor& tensor) {
  if (!tensor.has_range) return 0;
  const double largest = std::max(std::abs(tensor.max), std::abs(tensor.min));
  return std::isfinite(largest) ? largest : 0;
}

// How large an output can get by rounding alone, seen from the inputs of its call.
double rounding_of(std::span<const RunTensor> inputs, const RunTensor& output) {
  double rounding = 0;
  for (const RunTensor& input : inputs) {
    if (input.values != Values::kReal) continue;
    const double sum = input.has_norm && std::isfinite(input.norm) ? std::abs(input.norm) : 0;
    rounding =
        std::max(rounding, output.count < input.count
                               ? kAccumulatorSpacing * sum
                               : std::max(input.spacing, output.spacing) * largest_of(input));
  }
  return kCancellationSpacings * rounding;
}

class Classifier {
 public:
  Classifier(const Trace& target, const Trace& golden, const Alignment& alignment, bool exact,
             const MeasureFiles& measure)
      : target_(target), golden_(golden), alignment_(alignment), exact_(exact), measure_(measure) {}

  Classified run() {
    result_.roles.resize(target_.calls.size());
    for (std::uint32_t i = 0; i < target_.calls.size(); ++i) judge(i);
    result_.golden_only = alignment_.golden_only.size();
    settle_doubts();
    std::ranges::stable_sort(result_.events, {}, &Event::seen);
    return std::move(result_);
  }

 private:
  void judge(std::uint32_t number) {
    const Partner& partner = alignment_.partners[number];
    CallRole& role = result_.roles[number];
    if (partner.golden == kNoCall) {
      role.role = Role::kTargetOnly;
      ++result_.target_only;
      return;
    }
    const Call& call = target_.calls[number];
    const Call& other = golden_.calls[partner.golden];
    result_.again += partner.again ? 1 : 0;
    const std::string_view api = call.known_as.empty() ? call.api : call.known_as;
    result_.renamed += api != other.api ? 1 : 0;
    const Worst outputs = apart(number, false);
    if (partner.match == Match::kOutputs || outputs.excess <= 1) {
      ++result_.agreeing;
      return;
    }
    if (call.makes_garbage) {  // counts only where somebody uses it
      role.role = Role::kInherits;
      return;
    }
    const Worst inputs = apart(number, true);
    Event event = event_of(number, inputs, outputs);
    const double saved = saved_difference(number);
    event.input_difference = std::max(inputs.difference, saved);
    if (event.input_difference <= kMostInputDifference &&
        outputs.difference > kAmplification * event.input_difference) {
      role.role = Role::kIntroduces;
      role.doubtful = event.doubtful = is_doubtful(call, other, outputs);
      ++result_.introducing;
      result_.events.push_back(event);
      return;
    }
    role.role = Role::kInherits;
    ++result_.inheriting;
    find_origin(number, event, saved > inputs.difference);
  }

  // A backward pass also computes with what its forward pass kept, which its entry does not show.
  double saved_difference(std::uint32_t number) {
    const Call& call = target_.calls[number];
    if (call.direction == dump::EntryKind::kForward) return 0;
    if (forward_.empty()) {
      for (std::uint32_t i = 0; i < target_.calls.size(); ++i) {
        const Call& other = target_.calls[i];
        if (other.direction == dump::EntryKind::kForward) forward_.emplace(other.twin, i);
      }
    }
    const auto found = forward_.find(call.twin);
    if (found == forward_.end() || found->second > number) return 0;
    const Partner& partner = alignment_.partners[found->second];
    if (partner.golden == kNoCall || partner.match == Match::kOutputs) return 0;
    return std::max(apart(found->second, true).difference, apart(found->second, false).difference);
  }

  Event event_of(std::uint32_t number, const Worst& inputs, const Worst& outputs) const {
    const Call& call = target_.calls[number];
    const std::uint32_t golden = alignment_.partners[number].golden;
    const Call& other = golden_.calls[golden];
    const auto worst = static_cast<std::uint32_t>(outputs.index);
    return {.call = number,
            .seen = number,
            .golden = golden,
            .input_difference = inputs.difference,
            .output_difference = outputs.difference,
            .tensor = call.first + call.inputs + worst,
            .golden_tensor = other.first + other.inputs + std::min(worst, other.outputs - 1),
            .other_arguments = call.arguments != other.arguments};
  }

  // Where the differing inputs of a call come from, if not from a call that is judged already.
  void find_origin(std::uint32_t number, Event event, bool saved) {
    learn(number);
    const Call& call = target_.calls[number];
    const Call& other = golden_.calls[event.golden];
    bool input_differs = false;
    for (std::uint32_t i = 0; i < call.inputs && call.inputs == other.inputs; ++i) {
      const RunTensor& tensor = target_.tensors[call.first + i];
      const RunTensor& golden = golden_.tensors[other.first + i];
      const double apart = difference_of(number, tensor, event.golden, golden);
      if (apart <= tolerance(tensor, golden)) continue;
      input_differs = true;
      const std::uint32_t* const made = producer_.find(tensor.identity);
      if (made == nullptr) {
        event.cause = Cause::kOutside;
      } else if (target_.calls[*made].makes_garbage) {
        event.cause = Cause::kUninitialised;
        event.call = *made;
      } else if (result_.roles[*made].role == Role::kTargetOnly) {
        event.cause = Cause::kUnmatched;
        event.call = *made;
      } else {
        continue;
      }
      event.tensor = call.first + i;
      event.golden_tensor = other.first + i;
      event.input_difference = apart;
      result_.events.push_back(event);
      return;
    }
    if (input_differs || saved) return;
    event.cause = Cause::kGrowth;
    result_.events.push_back(event);
  }

  // Which target call made a tensor last.
  void learn(std::uint32_t until) {
    for (; learned_ < until; ++learned_) {
      for (const RunTensor& tensor : target_.outputs(target_.calls[learned_])) {
        producer_.set(tensor.identity, learned_);
      }
    }
  }

  // Measured files decide where there are some: other numbers may have the same statistics.
  double difference_of(std::uint32_t number, const RunTensor& tensor, std::uint32_t golden,
                       const RunTensor& other) const {
    const double recorded = difference(tensor, other, exact_);
    if (!measure_ || std::isinf(recorded)) return recorded;
    return measure_(number, tensor, golden, other).value_or(recorded);
  }

  Worst apart(std::uint32_t number, bool of_inputs) const {
    const std::uint32_t golden = alignment_.partners[number].golden;
    const Call& call = target_.calls[number];
    const Call& other = golden_.calls[golden];
    const auto tensors = of_inputs ? target_.inputs(call) : target_.outputs(call);
    const auto others = of_inputs ? golden_.inputs(other) : golden_.outputs(other);
    if (!measure_ || tensors.size() != others.size()) return worst_of(tensors, others, exact_);
    Worst worst;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const double found = difference_of(number, tensors[i], golden, others[i]);
      const double excess = found / tolerance(tensors[i], others[i]);
      if (excess > worst.excess) worst = {found, excess, i, true};
    }
    return worst;
  }

  static bool cancels(std::span<const RunTensor> inputs, const RunTensor& output,
                      const RunTensor& other) {
    if (output.values != Values::kReal || !output.has_range || !std::isfinite(output.max) ||
        !std::isfinite(output.min)) {
      return false;
    }
    return std::max(largest_of(output), largest_of(other)) <= rounding_of(inputs, output);
  }

  // Whole numbers jump where real ones only waver: an index at a tie. And next to nothing is left
  // where large numbers cancel, so that two correct devices share no digit of it.
  bool is_doubtful(const Call& call, const Call& other, const Worst& worst) const {
    const auto outputs = target_.outputs(call);
    const auto others = golden_.outputs(other);
    if (exact_ || outputs.size() != others.size() || !worst.comparable) return false;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (difference(outputs[i], others[i], exact_) <= tolerance(outputs[i], others[i])) continue;
      if (outputs[i].values == Values::kReal &&
          !cancels(target_.inputs(call), outputs[i], others[i])) {
        return false;
      }
    }
    return true;
  }

  // A doubtful call counts when it is the exception: when other calls that cancel, or that
  // give whole numbers, agree in these two runs.
  void settle_doubts() {
    std::size_t doubtful = 0;
    for (const Event& event : result_.events) doubtful += event.doubtful ? 1 : 0;
    if (doubtful == 0) return;
    std::size_t steady = 0;
    for (std::uint32_t i = 0; i < target_.calls.size(); ++i) {
      if (result_.roles[i].role == Role::kAgrees && leaves_doubts(target_.calls[i])) ++steady;
    }
    if (doubtful > 1 + steady / 4) return;
    for (Event& event : result_.events) event.doubtful = false;
    for (CallRole& role : result_.roles) role.doubtful = false;
  }

  bool leaves_doubts(const Call& call) const {
    const auto outputs = target_.outputs(call);
    return !outputs.empty() && std::ranges::all_of(outputs, [&](const RunTensor& output) {
      return output.values == Values::kWhole || cancels(target_.inputs(call), output, output);
    });
  }

  const Trace& target_;
  const Trace& golden_;
  const Alignment& alignment_;
  const bool exact_;
  const MeasureFiles& measure_;
  Classified result_;
  TensorTable producer_;  // the target call that made a tensor
  std::uint32_t learned_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> forward_;  // Call::twin -> forward call
};

}  // namespace

Classified classify(const Trace& target, const Trace& golden, const Alignment& alignment,
                    bool exact, const MeasureFiles& measure) {
  return Classifier(target, golden, alignment, exact, measure).run();
}

const Event* first_event(const Classified& classified) {
  const auto found =
      std::ranges::find_if(classified.events, [](const Event& event) { return !event.doubtful; });
  return found == classified.events.end() ? nullptr : &*found;
}

}  // namespace msprobe::divergence
