// SPDX-License-Identifier: Apache-2.0
// Dumps of MindSpore's dynamic graph, and of models that MSAdapter (MindTorch) runs on it.
#include <algorithm>
#include <limits>

#include "execute/mindspore/mindspore_names.h"
#include "execute/replay_dialect.h"

namespace msprobe::execute {
namespace {

using dump::TensorRecord;

bool is_floating(const TensorRecord& tensor) {
  return tensor.dtype && (is_float(*tensor.dtype) || is_complex(*tensor.dtype));
}

bool is_null(const dump::Value& value) { return value.as<dump::None>() != nullptr; }

// Which tensors were differentiated for. A backward entry has one slot per positional tensor, null
// where no gradient reached it, or a single null where none reached any. Members of lists have no
// slot and are differentiated for; keyword tensors are not. Nothing to differentiate for, or no
// gradient that arrives: there is no backward.
void mark_inputs(dump::CallRecord& record) {
  const dump::List& slots = record.backward->output;
  dump::List& args = record.forward.input_args;
  const auto tensors = static_cast<std::size_t>(std::ranges::count_if(
      args, [](const dump::Value& value) { return value.as<TensorRecord>() != nullptr; }));
  const bool none = slots.size() == 1 && is_null(slots.front());
  bool any = false;
  std::size_t slot = 0;
  for (dump::Value& value : args) {
    if (auto* tensor = std::get_if<TensorRecord>(&value.data)) {
      const bool null = none || (slots.size() == tensors && is_null(slots[slot]));
      tensor->requires_grad = is_floating(*tensor) && !null;
      any = any || tensor->requires_grad;
      ++slot;
    } else if (auto* list = std::get_if<dump::List>(&value.data)) {
      for (dump::Value& member : *list) {
        auto* inner = std::get_if<TensorRecord>(&member.data);
        if (inner == nullptr) continue;
        inner->requires_grad = is_floating(*inner);
        any = any || inner->requires_grad;
      }
    }
  }
  if (!any || std::ranges::all_of(record.backward->input, is_null)) record.backward.reset();
}

double largest_of(DType dtype) {
  constexpr double kHalf = 65504;
  constexpr double kBFloat16 = 0x1.FEp127;
  if (dtype == DType::kFloat16) return kHalf;
  if (dtype == DType::kBFloat16) return kBFloat16;
  return dtype == DType::kFloat32 ? std::numeric_limits<float>::max()
                                  : std::numeric_limits<double>::max();
}

// Infinities become the limits of the recorded dtype, not those of the benchmark's.
void name_limits(dump::CallRecord& record) {
  const auto& args = record.forward.input_args;
  const auto* input = args.empty() ? nullptr : args.front().as<TensorRecord>();
  if (input == nullptr || !input->dtype || !is_float(*input->dtype)) return;
  const double limit = largest_of(*input->dtype);
  const auto set = [&](std::size_t place, const char* name, double value) {
    if (args.size() > place) return;
    dump::Dict& kwargs = record.forward.input_kwargs;
    const auto found = std::ranges::find(kwargs, name, &dump::DictItem::first);
    if (found == kwargs.end()) {
      kwargs.push_back({name, dump::Value{value}});
    } else if (is_null(found->second)) {
      found->second = dump::Value{value};
    }
  };
  set(2, "posinf", limit);
  set(3, "neginf", -limit);
}

Result<dump::CallRecord> parse_mindspore(const dump::CallSlice& slice, std::string_view place) {
  Result<dump::CallRecord> record = dump::parse_call(slice, place);
  if (!record) return record;
  if (record->backward) mark_inputs(*record);
  const auto name = parse_call_name(record->full_name);
  if (name && name->bare_name == "nan_to_num") name_limits(*record);
  return record;
}

// The gradient of a real input is sometimes recorded as complex, with an imaginary part of 0.
PyValue as_kind_of(const at::Tensor& bench, const PyValue& recorded) {
  const auto* tensor = recorded.as<at::Tensor>();
  if (tensor == nullptr || !tensor->is_complex() || !bench.defined() || bench.is_complex()) {
    return recorded;
  }
  const at::Tensor parts = at::view_as_real(*tensor);
  const bool real = !parts.select(-1, 1).any().item<bool>();
  return real ? PyValue{parts.select(-1, 0).contiguous()} : recorded;
}

// Slot by slot: one per positional tensor.
OrSkip<RecordedGradients> match_slots(const std::vector<Input>& inputs, const BenchGradients& bench,
                                      const PyList& recorded, const InLayout& /*in_layout*/) {
  RecordedGradients found{std::vector<PyValue>(inputs.size()), {}};
  std::size_t slot = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].of_keyword || inputs[i].in_list) continue;
    if (slot < recorded.size()) found.values[i] = as_kind_of(bench.of_inputs[i], recorded[slot]);
    ++slot;
  }
  return found;
}

// An output of a type that the collector does not know is null, and so is a gradient that was not
// computed; only floating gradients are compared.
bool keeps_mindspore(const LeafPair& pair, bool backward) {
  if (pair.state != LeafPair::State::kBoth) return true;
  if (pair.device.is_none() || pair.bench.is_none()) return false;
  const auto* device = pair.device.as<at::Tensor>();
  return !backward || (device != nullptr && (device->is_floating_point() || device->is_complex()));
}

}  // namespace

const ReplayDialect& mindspore_dialect() {
  static const ReplayDialect dialect{.name = "mindspore",
                                     .parse = &parse_mindspore,
                                     .find = &mindspore::find,
                                     .torch_name = &mindspore::torch_name,
                                     .adjusts = false,
                                     .match_gradients = &match_slots,
                                     .keeps = &keeps_mindspore,
                                     .like_mindspore = true};
  return dialect;
}

const ReplayDialect& mindtorch_dialect() {
  static const ReplayDialect dialect{.name = "mindtorch",
                                     .parse = &parse_mindspore,
                                     .adjusts = false,
                                     .match_gradients = &match_slots,
                                     .keeps = &keeps_mindspore,
                                     .like_mindspore = true};
  return dialect;
}

}  // namespace msprobe::execute
