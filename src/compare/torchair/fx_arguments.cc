// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "torchair/unit_pairing.h"

namespace msprobe::torchair {
namespace {

// Where an input comes from.
enum class Origin : std::uint8_t { kFx, kSource, kHelper };

class Matcher {
 public:
  Matcher(OpId op, const std::vector<InputFacts>& inputs, const FxNode& node,
          const GraphIndex& graph, FxFiles& files, const Execution& execution)
      : op_(op),
        inputs_(inputs),
        node_(node),
        graph_(graph),
        files_(files),
        execution_(execution),
        matches_(graph.op(op).inputs.size()),
        used_(node.inputs.size()) {}

  std::vector<ArgumentMatch> match() {
    const std::size_t edges = matches_.size();
    // First what stays at its place, so that what moved cannot take it.
    for (std::size_t i = 0; i < edges; ++i) {
      if (origin(i) == Origin::kFx && is_free(i) && has_fx_value(i, i))
        take(i, i, MatchRule::kEdge);
    }
    for (std::size_t i = 0; i < edges; ++i) {
      if (origin(i) == Origin::kFx && matches_[i].array == nullptr) match_moved(i);
    }
    for (std::size_t i = 0; i < edges; ++i) {
      if (origin(i) == Origin::kFx && matches_[i].array == nullptr) match_changed(i);
    }
    for (std::size_t i = 0; i < edges; ++i) {
      if (origin(i) == Origin::kSource) match_value(i);
    }
    return std::move(matches_);
  }

 private:
  const ge::GraphEdge& edge(std::size_t i) const { return graph_.op(op_).inputs[i]; }
  const FxArray& argument(std::size_t i) const { return node_.inputs[i]; }
  bool is_free(std::size_t argument) const { return argument < used_.size() && !used_[argument]; }

  void take(std::size_t input, std::size_t argument, MatchRule rule) {
    matches_[input] = {&node_.inputs[argument], rule};
    used_[argument] = true;
  }

  std::string_view fx_name(std::size_t i) const {
    if (const auto producer = graph_.find(edge(i).producer)) {
      const std::string_view name = graph_.fx_name(*producer, edge(i).output);
      if (!name.empty()) return name;
    }
    return edge(i).fx_name;
  }

  Origin origin(std::size_t i) const {
    if (!fx_name(i).empty()) return Origin::kFx;
    const auto producer = graph_.find(edge(i).producer);
    return !producer || graph_.is_source(*producer) ? Origin::kSource : Origin::kHelper;
  }

  const FxArray* produced(std::size_t i) const {
    const auto name = parse_fx_tensor_name(fx_name(i));
    return name ? files_.output(*name, execution_) : nullptr;
  }

  // The argument is the very tensor that the FX producer wrote. Where no other argument is like it,
  // its form is enough.
  bool has_fx_value(std::size_t input, std::size_t place) const {
    const FxArray* value = produced(input);
    if (value == nullptr || !value->dtype) return false;
    const auto alike = [&](const FxArray& array) {
      return array.dtype == value->dtype && array.shape == value->shape;
    };
    if (!alike(argument(place))) return false;
    const bool only_one =
        !value->is_info && input == place && std::ranges::count_if(node_.inputs, alike) == 1;
    return only_one || files_.same_content(argument(place), *value);
  }

  void match_moved(std::size_t input) {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (is_free(i) && has_fx_value(input, i)) return take(input, i, MatchRule::kEdge);
    }
  }

  // The producer was not dumped, or the argument was changed in place: position and shape are left.
  void match_changed(std::size_t input) {
    if (is_free(input) && fits(input, input)) return take(input, input, MatchRule::kEdge);
    std::optional<std::size_t> only;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!is_free(i) || !fits(input, i) || argument(i).is_info) continue;
      if (only) return;
      only = i;
    }
    if (only) take(input, *only, MatchRule::kEdge);
  }

  // Equal shapes, or one element each.
  bool fits(std::size_t input, std::size_t place) const {
    const FxArray& array = argument(place);
    if (!array.problem.empty()) return input == place;
    const GeTensorInfo* info = input < inputs_.size() ? inputs_[input].info : nullptr;
    if (array.is_info || info == nullptr || !info->shape) return true;
    if (*info->shape == array.shape) return true;
    const Result<std::int64_t> one = element_count(*info->shape);
    const Result<std::int64_t> other = element_count(array.shape);
    return one && other && *one == 1 && *other == 1;
  }

  bool equal(std::size_t input, std::size_t place) const {
    if (input >= inputs_.size() || !inputs_[input].has_values_of) return false;
    return inputs_[input].has_values_of(argument(place)).value_or(false);
  }

  void match_value(std::size_t input) {
    const bool at_place = is_free(input) && fits(input, input);
    if (at_place && equal(input, input)) return take(input, input, MatchRule::kValue);
    std::optional<std::size_t> only;
    bool several = false;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!is_free(i) || !fits(input, i)) continue;
      if (equal(input, i)) return take(input, i, MatchRule::kValue);
      several = only.has_value();
      only = i;
    }
    if (at_place) return take(input, input, MatchRule::kValue);
    // Another place without equal values counts only for a tensor: numbers are too much alike.
    if (only && !several && !argument(*only).is_info && !argument(*only).shape.empty()) {
      take(input, *only, MatchRule::kValue);
    }
  }

  OpId op_;
  const std::vector<InputFacts>& inputs_;
  const FxNode& node_;
  const GraphIndex& graph_;
  FxFiles& files_;
  const Execution& execution_;
  std::vector<ArgumentMatch> matches_;
  std::vector<bool> used_;
};

}  // namespace

std::vector<ArgumentMatch> match_arguments(OpId op, const std::vector<InputFacts>& inputs,
                                           const FxNode& node, const GraphIndex& graph,
                                           FxFiles& files, const Execution& execution) {
  return Matcher(op, inputs, node, graph, files, execution).match();
}

}  // namespace msprobe::torchair
