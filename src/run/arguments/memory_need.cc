// SPDX-License-Identifier: Apache-2.0
#include "arguments/memory_need.h"

#include <algorithm>

namespace msprobe::arguments {
namespace {

double bytes_of_tensor(const dump::TensorRecord& tensor, bool raised) {
  if (!tensor.dtype || !tensor.has_shape) return 0;
  double elements = 1;
  for (const std::int64_t extent : tensor.shape) {
    elements *= static_cast<double>(std::max<std::int64_t>(extent, 0));
  }
  const auto size = static_cast<double>(size_bytes(*tensor.dtype));
  constexpr double kDouble = 8;
  const bool is_raised = raised && is_float(*tensor.dtype) && size < kDouble;
  return elements * (is_raised ? size + kDouble : size);
}

double bytes_of(const dump::Value& value, bool raised);

double bytes_of(const dump::List& values, bool raised) {
  double bytes = 0;
  for (const dump::Value& value : values) bytes += bytes_of(value, raised);
  return bytes;
}

double bytes_of(const dump::Dict& items, bool raised) {
  double bytes = 0;
  for (const dump::DictItem& item : items) bytes += bytes_of(item.second, raised);
  return bytes;
}

double bytes_of(const dump::Value& value, bool raised) {
  if (const auto* tensor = value.as<dump::TensorRecord>()) return bytes_of_tensor(*tensor, raised);
  if (const auto* list = value.as<dump::List>()) return bytes_of(*list, raised);
  if (const auto* dict = value.as<dump::Dict>()) return bytes_of(*dict, raised);
  return 0;
}

}  // namespace

double least_bytes(const dump::CallRecord& call, bool raised) {
  double bytes = bytes_of(call.forward.input_args, raised) +
                 bytes_of(call.forward.input_kwargs, raised) +
                 bytes_of(call.forward.output, raised);
  if (call.backward) {
    bytes += bytes_of(call.backward->input, raised) + bytes_of(call.backward->output, raised);
  }
  return bytes;
}

}  // namespace msprobe::arguments
