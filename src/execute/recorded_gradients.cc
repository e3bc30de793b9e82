// SPDX-License-Identifier: Apache-2.0
#include "execute/recorded_gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "libtorch/dtypes.h"

namespace msprobe::execute {
namespace {

constexpr double kNoFit = std::numeric_limits<double>::infinity();
// Below this distance a gradient is the recorded one, whatever the other orders say.
constexpr double kAgrees = 0.05;

// ||a - b|| / ||b||, in double; infinite where either holds something that is not a number.
double distance(const at::Tensor& recorded, const at::Tensor& bench) {
  const at::NoGradGuard no_grad;
  const at::ScalarType type = bench.is_complex() ? at::kComplexDouble : at::kDouble;
  const at::Tensor b = libtorch::plain(bench).to(type);
  const double error = (libtorch::plain(recorded).to(type) - b).norm().item().toDouble();
  const double size = b.norm().item().toDouble();
  const double relative = size > 0 ? error / size : error;
  return std::isfinite(relative) ? relative : std::numeric_limits<double>::max();
}

constexpr std::string_view kNodeNote =
    "gradients of the last autograd node, which is what was recorded";

struct Candidate {
  at::Tensor tensor;
  double distance = kNoFit;
  bool transposed = false;
};

Candidate candidate(const PyValue& value, const at::Tensor& bench) {
  const auto* recorded = value.as<at::Tensor>();
  if (recorded == nullptr || !bench.defined()) return {};
  Candidate best;
  if (recorded->sizes() == bench.sizes()) best = {*recorded, distance(*recorded, bench), false};
  if (recorded->dim() >= 2 && best.distance > kAgrees) {
    const at::Tensor turned = recorded->transpose(-2, -1);
    if (turned.sizes() == bench.sizes()) {
      const double other = distance(turned, bench);
      if (other < best.distance) best = {turned.contiguous(), other, true};
    }
  }
  return best;
}

// Gradients, and the worst of their distances: kNoFit where their number or a shape does not fit.
struct Match {
  RecordedGradients gradients;
  double worst = kNoFit;
};

// Recorded gradients beside the benchmark's at the places `wanted`, one by one.
Match in_order(const std::vector<std::size_t>& wanted, const std::vector<at::Tensor>& bench,
               const PyList& recorded) {
  if (recorded.size() != wanted.size()) return {};
  Match match{{std::vector<PyValue>(bench.size()), {}, {}}, 0};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const at::Tensor& gradient = bench[wanted[i]];
    const auto* tensor = recorded[i].as<at::Tensor>();
    if ((tensor != nullptr) != gradient.defined()) return {};
    if (tensor == nullptr) continue;
    if (tensor->sizes() != gradient.sizes()) return {};
    match.worst = std::max(match.worst, distance(*tensor, gradient));
    match.gradients.values[wanted[i]] = recorded[i];
  }
  return match;
}

// Beside the gradients of the last autograd node.
Match in_node_order(const std::vector<at::Tensor>& node, const PyList& recorded) {
  std::vector<std::size_t> places(node.size());
  std::iota(places.begin(), places.end(), 0U);
  if (node.empty()) return {};
  Match match = in_order(places, node, recorded);
  match.gradients.node = node;
  match.gradients.note = std::string(kNodeNote);
  return match;
}

// Each gradient of the benchmark takes the nearest recorded one that is still free.
Match in_nearest_order(const std::vector<std::size_t>& wanted, const std::vector<at::Tensor>& bench,
                       const PyList& recorded) {
  Match match{{std::vector<PyValue>(bench.size()), {}, {}}, 0};
  std::vector<bool> taken(recorded.size());
  for (const std::size_t input : wanted) {
    if (!bench[input].defined()) continue;
    Candidate best;
    std::size_t from = 0;
    for (std::size_t j = 0; j < recorded.size(); ++j) {
      if (taken[j]) continue;
      Candidate next = candidate(recorded[j], bench[input]);
      if (next.distance < best.distance) {
        best = std::move(next);
        from = j;
      }
    }
    if (!best.tensor.defined()) return {};
    taken[from] = true;
    match.worst = std::max(match.worst, best.distance);
    match.gradients.values[input] = {best.tensor};
    std::string& note = match.gradients.note;
    note += fmt::format("{}gradient of input {} from place {}{}", note.empty() ? "" : ", ", input,
                        from, best.transposed ? " transposed" : "");
  }
  return match;
}

// The inputs that are differentiated for. Dumps of keyword tensors list them behind the positional
// ones.
std::vector<std::size_t> wanted_places(const std::vector<Input>& inputs, std::size_t recorded) {
  std::vector<std::size_t> wanted;
  const auto append = [&](bool of_keyword) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].edge.is_valid() && inputs[i].of_keyword == of_keyword) wanted.push_back(i);
    }
  };
  append(false);
  if (recorded > wanted.size()) append(true);
  return wanted;
}

}  // namespace

OrSkip<RecordedGradients> match_gradients(const std::vector<Input>& inputs,
                                          const std::vector<at::Tensor>& bench,
                                          const PyList& recorded, const NodeGradients& node) {
  const std::vector<std::size_t> wanted = wanted_places(inputs, recorded.size());
  Match best = in_order(wanted, bench, recorded);
  const auto challenge = [&](Match other) {
    if (other.worst < best.worst) best = std::move(other);
  };
  if (best.worst > kAgrees) challenge(in_nearest_order(wanted, bench, recorded));
  if (best.worst > kAgrees) challenge(in_node_order(node(), recorded));
  if (best.worst < kNoFit) return std::move(best.gradients);
  return skip(SkipReason::kNothingRecorded,
              "the recorded gradients fit the inputs in no order of their shapes");
}

}  // namespace msprobe::execute
