// SPDX-License-Identifier: Apache-2.0
#include "execute/recorded_gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "libtorch/dtypes.h"

namespace msprobe::execute {
namespace {

using libtorch::LastNode;

constexpr double kNoFit = std::numeric_limits<double>::infinity();
// Below this distance a gradient is the recorded one.
constexpr double kAgrees = 0.05;

constexpr std::string_view kNodeNote =
    "gradients of the last autograd node, which is what was recorded";
constexpr std::string_view kUnknown =
    "the recorded gradients are those of an autograd node inside the call, and it is unknown "
    "which one";

// ||a - b|| / ||b||, in double; the largest number where either holds something that is none.
double distance(const at::Tensor& recorded, const at::Tensor& bench) {
  const at::NoGradGuard no_grad;
  const at::ScalarType type = bench.is_complex() ? at::kComplexDouble : at::kDouble;
  const at::Tensor b = libtorch::plain(bench).to(type);
  const double error = (libtorch::plain(recorded).to(type) - b).norm().item().toDouble();
  const double size = b.norm().item().toDouble();
  const double relative = size > 0 ? error / size : error;
  return std::isfinite(relative) ? relative : std::numeric_limits<double>::max();
}

// Gradients, and the worst of their distances: kNoFit where their number or a shape does not fit.
struct Match {
  RecordedGradients gradients;
  double worst = kNoFit;

  bool fits() const { return worst < kNoFit; }
  bool agrees() const { return worst <= kAgrees; }
};

// Recorded gradients beside others, one by one.
Match one_by_one(const std::vector<at::Tensor>& bench, const PyList& recorded) {
  if (recorded.size() != bench.size() || bench.empty()) return {};
  Match match{{std::vector<PyValue>(bench.size()), {}}, 0};
  for (std::size_t i = 0; i < bench.size(); ++i) {
    const auto* tensor = recorded[i].as<at::Tensor>();
    if ((tensor != nullptr) != bench[i].defined()) return {};
    if (tensor == nullptr) continue;
    if (tensor->sizes() != bench[i].sizes()) return {};
    match.worst = std::max(match.worst, distance(*tensor, bench[i]));
    match.gradients.values[i] = recorded[i];
  }
  return match;
}

// The place of an input's gradient among those of a node.
struct Source {
  std::size_t place = 0;
  bool transposed = false;
};
using Sources = std::vector<std::optional<Source>>;  // one per input

bool is_edge_of(const libtorch::Edge& edge, const Input& input) {
  return input.edge.is_valid() && edge.function == input.edge.function &&
         edge.input_nr == input.edge.input_nr;
}

// Every gradient goes straight to an input of its own: the call is this one operator.
std::optional<Sources> straight(const std::vector<Input>& inputs, const LastNode& node) {
  Sources sources(inputs.size());
  for (std::size_t k = 0; k < node.next.size(); ++k) {
    if (!node.next[k].is_valid()) continue;
    const auto input = std::ranges::find_if(
        inputs, [&](const Input& each) { return is_edge_of(node.next[k], each); });
    if (input == inputs.end()) return std::nullopt;
    auto& source = sources[static_cast<std::size_t>(input - inputs.begin())];
    if (source) return std::nullopt;
    source = Source{k};
  }
  return sources;
}

// Every gradient is, bit for bit, the whole gradient of an input, and none is left out.
std::optional<Sources> by_value(const BenchGradients& bench) {
  Sources sources(bench.of_inputs.size());
  const auto place_of = [&](const at::Tensor& gradient, std::size_t k) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const at::Tensor& whole = bench.of_inputs[i];
      if (sources[i] || !whole.defined()) continue;
      if (whole.sizes() == gradient.sizes() && whole.equal(gradient)) {
        sources[i] = Source{k};
      } else if (gradient.dim() == 2 && whole.sizes() == gradient.t().sizes() &&
                 whole.equal(gradient.t())) {
        sources[i] = Source{k, true};
      }
      if (sources[i]) return true;
    }
    return false;
  };
  for (std::size_t k = 0; k < bench.last.gradients.size(); ++k) {
    const at::Tensor& gradient = bench.last.gradients[k];
    if (gradient.defined() && !place_of(gradient, k)) return std::nullopt;
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (bench.of_inputs[i].defined() && !sources[i]) return std::nullopt;
  }
  return sources;
}

std::string note_on(const Sources& sources) {
  std::string note;
  bool in_order = true;
  std::size_t next = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i]) continue;
    const auto [place, transposed] = *sources[i];
    in_order = in_order && place == next++ && !transposed;
    note += fmt::format("{}gradient of input {} from place {}{}", note.empty() ? "" : ", ", i,
                        place, transposed ? " transposed" : "");
  }
  return in_order ? "" : note;
}

// What fits the node gradient by gradient, given to the inputs where the node's gradients are
// theirs.
Match beside_node(const std::vector<Input>& inputs, const BenchGradients& bench, Layout layout,
                  const PyList& recorded) {
  Match match = one_by_one(bench.last.gradients, recorded);
  if (!match.fits()) return match;
  std::optional<Sources> sources = straight(inputs, bench.last);
  if (!sources) sources = by_value(bench);
  if (!sources) {
    match.gradients.node = bench.last.gradients;
    match.gradients.place = {bench.last.name, layout};
    match.gradients.note = std::string(kNodeNote);
    return match;
  }
  match.gradients = {std::vector<PyValue>(inputs.size()), note_on(*sources)};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!(*sources)[i]) continue;
    const auto [place, transposed] = *(*sources)[i];
    const auto* tensor = recorded[place].as<at::Tensor>();
    if (tensor != nullptr) {
      match.gradients.values[i] = {transposed ? tensor->t().contiguous() : *tensor};
    }
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

// In the order of the arguments: what another framework, or another version of PyTorch, recorded.
Match in_order(const std::vector<Input>& inputs, const std::vector<at::Tensor>& bench,
               const PyList& recorded) {
  const std::vector<std::size_t> wanted = wanted_places(inputs, recorded.size());
  std::vector<at::Tensor> chosen;
  for (const std::size_t input : wanted) chosen.push_back(bench[input]);
  Match match = one_by_one(chosen, recorded);
  std::vector<PyValue> values(inputs.size());
  for (std::size_t i = 0; match.fits() && i < wanted.size(); ++i) {
    values[wanted[i]] = match.gradients.values[i];
  }
  match.gradients.values = std::move(values);
  return match;
}

// By an operator that the benchmark composes: its gradients in the order of its parameters, those
// that are there.
Match of_whole_operator(const std::vector<Input>& inputs, const BenchGradients& bench,
                        const PyList& recorded) {
  std::vector<std::size_t> wanted;
  std::vector<at::Tensor> chosen;
  for (const std::size_t input : bench.whole_operator) {
    if (!inputs[input].edge.is_valid() || !bench.of_inputs[input].defined()) continue;
    wanted.push_back(input);
    chosen.push_back(bench.of_inputs[input]);
  }
  PyList present;
  for (const PyValue& gradient : recorded) {
    if (!gradient.is_none()) present.push_back(gradient);
  }
  Match match = one_by_one(chosen, present);
  if (!match.fits()) return match;
  std::vector<PyValue> values(inputs.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    values[wanted[i]] = std::move(match.gradients.values[i]);
  }
  match.gradients.values = std::move(values);
  return match;
}

bool same_node(const LastNode& one, const LastNode& other) {
  return one.name == other.name &&
         std::ranges::equal(one.gradients, other.gradients,
                            [](const at::Tensor& left, const at::Tensor& right) {
                              return left.defined() == right.defined() &&
                                     (!left.defined() || left.sizes() == right.sizes());
                            });
}

}  // namespace

OrSkip<RecordedGradients> match_gradients(const std::vector<Input>& inputs,
                                          const BenchGradients& bench, const PyList& recorded,
                                          const InLayout& in_layout) {
  Match whole = of_whole_operator(inputs, bench, recorded);
  if (whole.agrees()) return std::move(whole.gradients);
  Match match = beside_node(inputs, bench, Layout::kContiguous, recorded);
  const bool is_one_operator = !bench.last.next.empty() && straight(inputs, bench.last).has_value();
  if (match.agrees()) return std::move(match.gradients);
  Match ordered = in_order(inputs, bench.of_inputs, recorded);
  if (ordered.agrees()) return std::move(ordered.gradients);
  if (whole.fits()) return std::move(whole.gradients);
  if (is_one_operator && match.fits()) return std::move(match.gradients);
  if (is_one_operator && ordered.fits()) return std::move(ordered.gradients);

  // A function of several operators, and its last node is another one, or the numbers are wrong.
  std::vector<LastNode> seen{bench.last};
  std::size_t ways = match.fits() ? 1 : 0;
  for (const Layout layout : {Layout::kColumns, Layout::kPlanes, Layout::kParts}) {
    const OrSkip<BenchGradients> other = in_layout(layout);
    const auto is_other = [&](const LastNode& node) { return same_node(node, other->last); };
    if (!other || std::ranges::any_of(seen, is_other)) continue;
    seen.push_back(other->last);
    Match found = beside_node(inputs, *other, layout, recorded);
    if (!found.fits()) continue;
    ++ways;
    if (found.worst < match.worst) match = std::move(found);
  }
  if (match.agrees() || ways == 1) return std::move(match.gradients);
  return skip(SkipReason::kNothingRecorded, std::string(kUnknown));
}

}  // namespace msprobe::execute
