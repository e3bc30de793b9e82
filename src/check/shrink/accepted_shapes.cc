// SPDX-License-Identifier: Apache-2.0
#include "shrink/accepted_shapes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "core/call_name.h"

namespace msprobe::shrink {
namespace {

using dump::TensorRecord;
using dump::Value;

const Value* argument(const dump::CallRecord& call, std::size_t place, std::string_view name) {
  const auto& [args, kwargs, output, mutated] = call.forward;
  if (place < args.size()) return &args[place];
  const auto found = std::ranges::find(kwargs, name, &dump::DictItem::first);
  return found == kwargs.end() ? nullptr : &found->second;
}

std::int64_t product_from(const Shape& shape, std::size_t first) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < shape.size(); ++i) product *= shape[i];
  return product;
}

// Whether statistics of the input itself are used.
bool flag(const dump::CallRecord& call, std::size_t place, std::string_view name, bool otherwise) {
  const Value* value = argument(call, place, name);
  const bool* given = value == nullptr ? nullptr : value->as<bool>();
  return given == nullptr ? otherwise : *given;
}

// How many values share a mean; none: nothing is checked.
std::optional<std::int64_t> values_per_channel(const dump::CallRecord& call) {
  const std::string_view api = api_of(call.full_name);
  const Value* first = argument(call, 0, "input");
  const auto* input = first == nullptr ? nullptr : first->as<TensorRecord>();
  if (input == nullptr || input->shape.size() < 2) return std::nullopt;
  const Shape& shape = input->shape;
  if (api == "Functional.batch_norm" && flag(call, 5, "training", false)) {
    return shape[0] * product_from(shape, 2);
  }
  if (api == "Functional.instance_norm" && flag(call, 5, "use_input_stats", true)) {
    return product_from(shape, 2);
  }
  if (api != "Functional.group_norm") return std::nullopt;
  const Value* groups = argument(call, 1, "num_groups");
  const auto* count = groups == nullptr ? nullptr : groups->as<std::int64_t>();
  if (count == nullptr || *count == 0) return std::nullopt;
  return shape[0] * shape[1] / *count * product_from(shape, 2);
}

struct Recurrent {
  std::string_view bare_name;
  std::int64_t gates;  // rows of the parameters for each hidden unit
};
constexpr Recurrent kRecurrent[] = {{"lstm", 4}, {"gru", 3}, {"rnn_tanh", 1}, {"rnn_relu", 1}};

std::vector<const TensorRecord*> tensors_of(const Value& value) {
  std::vector<const TensorRecord*> tensors;
  if (const auto* tensor = value.as<TensorRecord>()) tensors.push_back(tensor);
  if (const auto* list = value.as<dump::List>()) {
    for (const Value& item : *list) {
      if (const auto* tensor = item.as<TensorRecord>()) tensors.push_back(tensor);
    }
  }
  return tensors;
}

// (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or of a
// packed sequence (data, batch_sizes, hx, params, ...) without batch_first.
bool recurrent_fits(const dump::List& args, std::int64_t gates) {
  std::size_t place = args.size();
  for (std::size_t i = 2; i < args.size(); ++i) {
    if (args[i].as<dump::List>() != nullptr) place = i;
  }
  if (place + 5 >= args.size()) return true;
  const auto* input = args[0].as<TensorRecord>();
  const std::vector<const TensorRecord*> states = tensors_of(args[place - 1]);
  const std::vector<const TensorRecord*> parameters = tensors_of(args[place]);
  const bool* biases = args[place + 1].as<bool>();
  const auto* layers = args[place + 2].as<std::int64_t>();
  const bool* both_ways = args[place + 5].as<bool>();
  if (input == nullptr || states.empty() || biases == nullptr || layers == nullptr ||
      both_ways == nullptr || input->shape.empty()) {
    return true;
  }
  const std::int64_t ways = *both_ways ? 2 : 1;
  const std::size_t each = *biases ? 4 : 2;
  const auto sets = static_cast<std::size_t>(*layers * ways);
  if (parameters.size() == sets * (each + 1)) return true;  // projected, not looked at
  if (parameters.size() != sets * each) return false;
  if (states.front()->shape.empty()) return false;
  const std::int64_t hidden = states.front()->shape.back();
  for (const TensorRecord* state : states) {
    const bool fits = state->shape.size() == 3 && state->shape.front() == *layers * ways &&
                      state->shape.back() == hidden;
    if (!fits) return false;
  }
  const Shape bias{gates * hidden};
  for (std::size_t set = 0; set < sets; ++set) {
    const bool first = static_cast<std::int64_t>(set) < ways;
    const std::int64_t width = first ? input->shape.back() : hidden * ways;
    const auto* const* own = parameters.data() + set * each;
    if (own[0]->shape != Shape{gates * hidden, width}) return false;
    if (own[1]->shape != Shape{gates * hidden, hidden}) return false;
    if (*biases && (own[2]->shape != bias || own[3]->shape != bias)) return false;
  }
  return true;
}

}  // namespace

bool python_accepts(const dump::CallRecord& call) {
  const auto name = parse_call_name(call.full_name);
  const auto* row = std::ranges::find(kRecurrent, name ? name->bare_name : std::string_view(),
                                      &Recurrent::bare_name);
  if (row != std::end(kRecurrent)) return recurrent_fits(call.forward.input_args, row->gates);
  return values_per_channel(call) != 1;
}

}  // namespace msprobe::shrink
