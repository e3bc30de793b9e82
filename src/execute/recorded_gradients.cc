#include "execute/recorded_gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace msprobe::execute {
namespace {

constexpr double kNoFit = std::numeric_limits<double>::infinity();
// Below this distance a gradient is the recorded one, whatever the other orders say.
constexpr double kAgrees = 0.05;

// ||a - b|| / ||b||, in double; infinite where either holds something that is not a number.
double distance(const at::Tensor& recorded, const at::Tensor& bench) {
  const at::NoGradGuard no_grad;
  const at::ScalarType type = bench.is_complex() ? at::kComplexDouble : at::kDouble;
  const at::Tensor b = bench.detach().to(type);
  const double error = (recorded.to(type) - b).norm().item().toDouble();
  const double size = b.norm().item().toDouble();
  const double relative = size > 0 ? error / size : error;
  return std::isfinite(relative) ? relative : std::numeric_limits<double>::max();
}

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

// Every input that is differentiated for, beside the recorded gradient at the same place.
std::optional<RecordedGradients> in_argument_order(const std::vector<std::size_t>& wanted,
                                                   const std::vector<at::Tensor>& bench,
                                                   const PyList& recorded, double& worst) {
  RecordedGradients found{std::vector<PyValue>(bench.size()), {}};
  worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const at::Tensor& gradient = bench[wanted[i]];
    const auto* tensor = recorded[i].as<at::Tensor>();
    if ((tensor != nullptr) != gradient.defined()) return std::nullopt;
    if (tensor == nullptr) continue;
    if (tensor->sizes() != gradient.sizes()) return std::nullopt;
    worst = std::max(worst, distance(*tensor, gradient));
    found.values[wanted[i]] = recorded[i];
  }
  return found;
}

// Each gradient of the benchmark takes the nearest recorded one that is still free.
std::optional<RecordedGradients> in_nearest_order(const std::vector<std::size_t>& wanted,
                                                  const std::vector<at::Tensor>& bench,
                                                  const PyList& recorded, double& worst) {
  RecordedGradients found{std::vector<PyValue>(bench.size()), {}};
  std::vector<bool> taken(recorded.size());
  worst = 0;
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
    if (!best.tensor.defined()) return std::nullopt;
    taken[from] = true;
    worst = std::max(worst, best.distance);
    found.values[input] = {best.tensor};
    found.note +=
        fmt::format("{}gradient of input {} from place {}{}", found.note.empty() ? "" : ", ", input,
                    from, best.transposed ? " transposed" : "");
  }
  return found;
}

}  // namespace

OrSkip<RecordedGradients> match_gradients(const std::vector<Input>& inputs,
                                          const std::vector<at::Tensor>& bench,
                                          const PyList& recorded) {
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].edge.is_valid() && !inputs[i].of_keyword) wanted.push_back(i);
  }
  // Dumps of keyword tensors list them behind the positional ones.
  if (recorded.size() > wanted.size()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].edge.is_valid() && inputs[i].of_keyword) wanted.push_back(i);
    }
  }
  double plain_worst = kNoFit;
  std::optional<RecordedGradients> plain;
  if (recorded.size() == wanted.size()) {
    plain = in_argument_order(wanted, bench, recorded, plain_worst);
  }
  if (plain && plain_worst <= kAgrees) return *std::move(plain);
  double nearest_worst = kNoFit;
  std::optional<RecordedGradients> nearest =
      in_nearest_order(wanted, bench, recorded, nearest_worst);
  if (plain && (!nearest || plain_worst <= nearest_worst)) return *std::move(plain);
  if (nearest) return *std::move(nearest);
  return skip(SkipReason::kNothingRecorded,
              "the recorded gradients fit the inputs in no order of their shapes");
}

}  // namespace msprobe::execute
