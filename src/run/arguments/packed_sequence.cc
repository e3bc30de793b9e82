// SPDX-License-Identifier: Apache-2.0
#include "arguments/packed_sequence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace msprobe::arguments {
namespace {

constexpr std::array<std::string_view, 6> kPacked{
    "_pack_padded_sequence", "_pad_packed_sequence", "gru", "lstm", "rnn_relu", "rnn_tanh"};

// From `largest` down to `smallest`, as near to `sum` as these allow.
at::Tensor falling(std::int64_t count, std::int64_t largest, std::int64_t smallest,
                   std::int64_t sum) {
  at::Tensor numbers = at::empty({count}, at::kLong);
  auto* out = numbers.data_ptr<std::int64_t>();
  std::int64_t left = sum;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t behind = (count - 1 - i) * smallest;
    out[i] = i == 0 ? largest : std::clamp(left - behind, smallest, largest);
    left -= out[i];
  }
  return numbers;
}

// What the numbers add up to: the rows of the packed data.
std::optional<std::int64_t> packed_rows(std::string_view bare_name, const dump::CallRecord& record,
                                        const PyList& args) {
  if (bare_name == "_pack_padded_sequence") {
    const auto* output = record.forward.output.empty()
                             ? nullptr
                             : record.forward.output.front().as<dump::TensorRecord>();
    if (output == nullptr || output->shape.empty()) return std::nullopt;
    return output->shape.front();
  }
  const auto* data = args[0].as<at::Tensor>();
  if (data == nullptr || data->dim() == 0) return std::nullopt;
  return data->size(0);
}

}  // namespace

void fit_packed_sequence(std::string_view bare_name, const dump::CallRecord& record, PyList& args) {
  const dump::List& recorded = record.forward.input_args;
  if (std::ranges::find(kPacked, bare_name) == kPacked.end() || recorded.size() < 2) return;
  const auto* numbers = recorded[1].as<dump::TensorRecord>();
  const bool drawn = numbers != nullptr && numbers->data_name.empty() &&
                     numbers->dtype == DType::kInt64 && numbers->shape.size() == 1;
  if (!drawn || !numbers->max.is_number() || !numbers->min.is_number()) return;
  const std::int64_t count = numbers->shape.front();
  const auto largest = static_cast<std::int64_t>(numbers->max.real);
  const auto smallest = static_cast<std::int64_t>(numbers->min.real);
  const std::optional<std::int64_t> sum = packed_rows(bare_name, record, args);
  if (!sum || smallest < 0 || largest < smallest) return;
  args[1] = PyValue{falling(count, largest, smallest, *sum)};
}

bool second_stays_on_cpu(std::string_view bare_name, const PyCall& call) {
  if (std::ranges::find(kPacked, bare_name) == kPacked.end() && bare_name != "tensor_split") {
    return false;
  }
  const auto* second = call.args.size() < 2 ? nullptr : call.args[1].as<at::Tensor>();
  return second != nullptr && second->scalar_type() == at::kLong;
}

void sort_group_ends(std::string_view bare_name, const dump::CallRecord& record, PyList& args,
                     PyDict& kwargs) {
  if (bare_name.find("grouped_mm") == bare_name.npos) return;
  const auto sort = [](const dump::Value& recorded, PyValue& value) {
    const auto* ends = recorded.as<dump::TensorRecord>();
    auto* drawn = std::get_if<at::Tensor>(&value.data);
    if (ends == nullptr || drawn == nullptr || !ends->data_name.empty() || drawn->dim() != 1 ||
        at::isFloatingType(drawn->scalar_type())) {
      return;
    }
    *drawn = std::get<0>(drawn->sort());
  };
  const dump::List& recorded = record.forward.input_args;
  for (std::size_t i = 2; i < std::min(recorded.size(), args.size()); ++i) {
    sort(recorded[i], args[i]);
  }
  for (const auto& [name, value] : record.forward.input_kwargs) {
    const auto built = std::ranges::find(kwargs, name, &PyDict::value_type::first);
    if (name == "offs" && built != kwargs.end()) sort(value, built->second);
  }
}

}  // namespace msprobe::arguments
