// SPDX-License-Identifier: Apache-2.0
#include "divergence/align.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <tuple>

#include "divergence/candidates.h"
#include "divergence/difference.h"
#include "divergence/tensor_table.h"

namespace msprobe::divergence {
namespace {

// Candidates looked at for one call and one question.
constexpr std::size_t kMostCandidates = 64;
// Calls ahead that are tried before the index is asked.
constexpr std::uint32_t kLookAhead = 4;
// How far behind the place that was reached a call may be, when values cannot decide.
constexpr std::uint32_t kLookBack = 32;
// Values this near are the same values; what lies between this and the tolerance might be another
// call's.
constexpr double kNear = 0.1;  // of the tolerance
constexpr double kNearReach = 1e-5;
constexpr double kOutputReach = 1e-4;
constexpr double kSmallestReach = 1e-9;

class Aligner {
 public:
  Aligner(const Trace& target, const Trace& golden, bool exact)
      : target_(target), golden_(golden), exact_(exact), used_(golden.calls.size(), false) {
    result_.partners.resize(target.calls.size());
  }

  Alignment run() {
    for (std::uint32_t i = 0; i < target_.calls.size(); ++i) {
      take(i, find(i));
    }
    pair_leftovers();
    for (std::uint32_t i = 0; i < golden_.calls.size(); ++i) {
      if (!used_[i]) result_.golden_only.push_back(i);
    }
    return std::move(result_);
  }

 private:
  struct Found {
    std::uint32_t golden = kNoCall;
    Match match = Match::kNone;
    explicit operator bool() const { return golden != kNoCall; }
  };

  Found find(std::uint32_t call_number) {
    const Call& call = target_.calls[call_number];
    if (const Found found = ahead(call)) return found;
    if (!index_) index_.emplace(golden_, exact_);
    shape_ = shape_of(target_, call);
    inputs_number_ = fingerprint(target_.inputs(call), exact_);
    outputs_number_ = fingerprint(target_.outputs(call), exact_);
    // Behind a divergence equal values are not to be expected, so the flow of data is asked first.
    if (diverged_) learn(call_number);
    const bool inherits = diverged_ && translate(call);
    if (inherits) {
      if (const Found found = by_flow(call)) return found;
    }
    if (const Found found = by_values(call)) return found;
    if (const Found found = by_inputs(call)) return found;
    if (const Found found = by_outputs(call)) return found;
    learn(call_number);
    translate(call);
    if (!inherits) {
      if (const Found found = by_flow(call)) return found;
    }
    return by_sequence(call);
  }

  // Most calls are where the run before let them be expected.
  Found ahead(const Call& call) const {
    const auto end = std::min<std::size_t>(golden_.calls.size(), std::size_t{next_} + kLookAhead);
    for (std::uint32_t i = next_; i < end; ++i) {
      const Call& other = golden_.calls[i];
      if (used_[i] || other.name != call.name || other.direction != call.direction) continue;
      if (agree(target_.inputs(call), golden_.inputs(other), exact_, kNear) &&
          agree(target_.outputs(call), golden_.outputs(other), exact_, kNear)) {
        return {i, Match::kValues};
      }
    }
    return {};
  }

  Found by_values(const Call& call) {
    const double moves = slack(target_.inputs(call)) + slack(target_.outputs(call)) * 1.25;
    const double number = values_number(inputs_number_, outputs_number_);
    for (const double reach : reaches(call)) {
      index_->by_values.near(shape_.whole, number, kSmallestReach + moves * reach, kMostCandidates,
                             candidates_);
      const Found found = best(call, Match::kValues, [&](const Call& other) {
        return inputs_agree(call, other) && outputs_agree(call, other);
      });
      if (found) return found;
    }
    return {};
  }

  // The same operation on the same inputs. Other arguments are taken only from a call that nobody
  // else is: they may be the very cause, or belong to another call on the same tensor.
  Found by_inputs(const Call& call) {
    const double moves = slack(target_.inputs(call));
    for (const double reach : reaches(call)) {
      index_->by_name.near(shape_.named, inputs_number_, kSmallestReach + moves * reach,
                           kMostCandidates, candidates_);
      const Found found = best(call, Match::kInputs, [&](const Call& other) {
        const std::uint32_t number = number_of(other);
        if (used_[number] && (other.arguments != call.arguments || call.inputs == 0 ||
                              index_->shapes[number].whole != shape_.whole)) {
          return false;
        }
        return inputs_agree(call, other);
      });
      if (found) return found;
    }
    return {};
  }

  // How far from the call's own number a candidate may be: first what is surely the same, then all
  // that the tolerance allows. Checksums have no neighbours.
  std::span<const double> reaches(const Call& call) {
    reaches_ = {kNearReach, kAgreement};
    for (const RunTensor& tensor : target_.inputs(call)) widen(tensor);
    for (const RunTensor& tensor : target_.outputs(call)) widen(tensor);
    return std::span(reaches_).first(exact_ ? 1 : 2);
  }
  void widen(const RunTensor& tensor) {
    reaches_[1] = std::max(reaches_[1], tolerance(tensor, tensor));
  }

  // Other inputs, yet what comes out is known: a fused call, or one of several that replace it.
  Found by_outputs(const Call& call) {
    if (!tells_apart(target_.outputs(call))) return {};
    const double moves = slack(target_.outputs(call));
    index_->by_outputs.near(shape_.outputs, outputs_number_, kSmallestReach + moves * kOutputReach,
                            kMostCandidates, candidates_);
    return best(call, Match::kOutputs, [&](const Call& other) {
      return agree(target_.outputs(call), golden_.outputs(other), exact_, kNear);
    });
  }

  // Makes translated_: the inputs as the golden run had them, where it is known which tensor of it
  // each one is. True: one of them differs from the target's.
  bool translate(const Call& call) {
    translated_.clear();
    any_known_ = false;
    bool differs = false;
    for (const RunTensor& tensor : target_.inputs(call)) {
      const std::uint32_t* const known = counterpart_.find(tensor.identity);
      if (known == nullptr) {
        translated_.push_back(tensor);
        continue;
      }
      any_known_ = true;
      translated_.push_back(golden_.tensors[*known]);
      differs = differs || difference(tensor, translated_.back(), exact_) >
                               tolerance(tensor, translated_.back());
    }
    return differs;
  }

  Found by_flow(const Call& call) {
    if (!any_known_) return {};
    const double number = fingerprint(translated_, exact_);
    index_->by_inputs.near(shape_.whole, number, kSmallestReach + slack(translated_) * kNearReach,
                           kMostCandidates, candidates_);
    const Found found = best(call, Match::kFlow, [&](const Call& other) {
      // Another name on equal inputs may be a part of a fused call: pair_leftovers() decides.
      const bool renamed = other.name != call.name;
      if (renamed && (used_[number_of(other)] || inputs_agree(call, other))) return false;
      return agree(translated_, golden_.inputs(other), exact_);
    });
    return found;
  }

  Found by_sequence(const Call& call) {
    const std::uint32_t first = next_ > kLookBack ? next_ - kLookBack : 0;
    index_->by_place.from(shape_.named_whole, first, kMostCandidates, candidates_);
    for (const std::uint32_t i : candidates_) {
      if (!used_[i] && !contradicts(call, golden_.calls[i])) return {i, Match::kSequence};
    }
    return {};
  }

  // An input that is known to be another golden tensor than the one here.
  bool contradicts(const Call& call, const Call& other) const {
    const auto inputs = target_.inputs(call);
    const auto others = golden_.inputs(other);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::uint32_t* const known = counterpart_.find(inputs[i].identity);
      if (known == nullptr) continue;
      const RunTensor& tensor = golden_.tensors[*known];
      if (difference(tensor, others[i], exact_) > tolerance(tensor, others[i])) return true;
    }
    return false;
  }

  // The candidate that `accepts` and that fits best: by name, arguments, without a partner yet,
  // near the place that was reached.
  template <class Accepts>
  Found best(const Call& call, Match match, Accepts accepts) const {
    using Rank = std::tuple<bool, bool, bool, std::uint32_t>;
    std::optional<Rank> best_rank;
    Found found;
    for (const std::uint32_t i : candidates_) {
      const Call& other = golden_.calls[i];
      const Rank rank{other.name != call.name, used_[i], other.arguments != call.arguments,
                      i >= next_ ? i - next_ : next_ - i};
      if (best_rank && rank >= *best_rank) continue;
      if (!accepts(other)) continue;
      best_rank = rank;
      found = {i, match};
    }
    return found;
  }

  void take(std::uint32_t call_number, const Found& found) {
    const bool agrees = found.match == Match::kValues || found.match == Match::kOutputs;
    diverged_ = diverged_ || !agrees;
    if (!found) return;
    result_.partners[call_number] = {found.golden, found.match, used_[found.golden]};
    if (used_[found.golden]) return;
    used_[found.golden] = true;
    if (found.match != Match::kOutputs) next_ = found.golden + 1;
  }

  // Which golden tensor each tensor of the calls so far is. Nothing is learned before it is
  // needed: two runs that agree never ask.
  void learn(std::uint32_t until) {
    for (; learned_ < until; ++learned_) {
      const Partner& partner = result_.partners[learned_];
      if (partner.golden == kNoCall) continue;
      const Call& call = target_.calls[learned_];
      const Call& other = golden_.calls[partner.golden];
      if (call.outputs == other.outputs) {
        for (std::uint32_t i = 0; i < call.outputs; ++i) {
          counterpart_.set(target_.tensors[call.first + call.inputs + i].identity,
                           other.first + other.inputs + i);
        }
      }
      if (call.inputs != other.inputs || partner.match == Match::kOutputs) continue;
      for (std::uint32_t i = 0; i < call.inputs; ++i) {
        counterpart_.add(target_.tensors[call.first + i].identity, other.first + i);
      }
    }
  }

  // Calls of both sides that are left between the same neighbours, with equal inputs and shapes:
  // renamed, and wrong.
  void pair_leftovers() {
    if (!index_) return;
    std::uint32_t place = 0;
    for (std::uint32_t i = 0; i < target_.calls.size(); ++i) {
      Partner& partner = result_.partners[i];
      if (partner.golden != kNoCall) {
        if (!partner.again) place = partner.golden;
        continue;
      }
      const Call& call = target_.calls[i];
      if (call.inputs == 0) continue;
      const std::uint32_t next = next_partner(i);
      for (std::uint32_t j = place + 1; j < std::min(next, place + 1 + kLookBack); ++j) {
        const Call& other = golden_.calls[j];
        if (used_[j] || index_->shapes[j].whole != shape_of(target_, call).whole) continue;
        if (!inputs_agree(call, other) || computed_elsewhere(other, i)) continue;
        partner = {j, Match::kInputs, false};
        used_[j] = true;
        break;
      }
    }
  }

  std::uint32_t next_partner(std::uint32_t call_number) const {
    for (std::uint32_t i = call_number + 1; i < target_.calls.size() && i < call_number + kLookBack;
         ++i) {
      const Partner& partner = result_.partners[i];
      if (partner.golden != kNoCall && !partner.again) return partner.golden;
    }
    return static_cast<std::uint32_t>(golden_.calls.size());
  }

  // Whether a target call nearby computes what the golden call computes: then that one, or several
  // together, stand for it.
  bool computed_elsewhere(const Call& other, std::uint32_t call_number) const {
    const auto end = std::min<std::size_t>(target_.calls.size(), call_number + kMostCandidates);
    for (std::size_t i = call_number; i < end; ++i) {
      if (outputs_agree(target_.calls[i], other)) return true;
    }
    return false;
  }

  static bool tells_apart(std::span<const RunTensor> tensors) {
    return std::ranges::any_of(tensors, [](const RunTensor& tensor) {
      return tensor.checksum != 0 || (tensor.values == Values::kReal && tensor.count > 1 &&
                                      tensor.has_range && tensor.max != tensor.min);
    });
  }

  bool inputs_agree(const Call& call, const Call& other) const {
    return agree(target_.inputs(call), golden_.inputs(other), exact_);
  }
  bool outputs_agree(const Call& call, const Call& other) const {
    return agree(target_.outputs(call), golden_.outputs(other), exact_);
  }
  std::uint32_t number_of(const Call& golden_call) const {
    return static_cast<std::uint32_t>(&golden_call - golden_.calls.data());
  }

  const Trace& target_;
  const Trace& golden_;
  const bool exact_;
  Alignment result_;
  std::vector<bool> used_;  // golden calls with a partner
  std::uint32_t next_ = 0;  // the golden call that is expected
  bool diverged_ = false;   // a call had no counterpart with its values
  std::optional<CallIndex> index_;
  TensorTable counterpart_;  // the golden tensor that a target tensor is
  std::uint32_t learned_ = 0;
  // Values of the call that is looked for.
  CallShape shape_;
  double inputs_number_ = 0, outputs_number_ = 0;
  std::vector<std::uint32_t> candidates_;
  std::vector<RunTensor> translated_;
  bool any_known_ = false;  // one of translated_ is the golden run's
  std::array<double, 2> reaches_{};
};

}  // namespace

Alignment align(const Trace& target, const Trace& golden, bool exact) {
  return Aligner(target, golden, exact).run();
}

}  // namespace msprobe::divergence
