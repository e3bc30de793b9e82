// SPDX-License-Identifier: Apache-2.0
#include "strict/result_type.h"

#include <algorithm>
#include <charconv>

#include "execute/value_tree.h"
#include "libtorch/dtypes.h"

namespace msprobe::strict {
namespace {

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::optional<at::ScalarType> recorded_output_type(const dump::CallRecord& record,
                                                   std::string_view path) {
  const dump::List* list = &record.forward.output;
  while (true) {
    const std::size_t dot = path.find('.');
    const std::size_t place = number(path.substr(0, dot));
    if (place >= list->size()) return std::nullopt;
    const dump::Value& value = (*list)[place];
    if (const auto* tensor = value.as<dump::TensorRecord>()) {
      return tensor->dtype ? libtorch::scalar_type(*tensor->dtype) : std::nullopt;
    }
    list = value.as<dump::List>();
    if (list == nullptr || dot == std::string_view::npos) return std::nullopt;
    path.remove_prefix(dot + 1);
  }
}

at::Tensor input_at(const arguments::PyCall& call, std::string_view path) {
  std::size_t left = number(path);
  at::Tensor found;
  const auto look = [&](const at::Tensor& tensor) {
    if (left-- == 0) found = tensor;
  };
  for (const auto& value : call.args) execute::for_each_tensor(value, look);
  for (const auto& [name, value] : call.kwargs) execute::for_each_tensor(value, look);
  return found;
}

std::optional<at::ScalarType> input_type(const arguments::PyCall& call, std::string_view path) {
  const at::Tensor input = input_at(call, path);
  return input.defined() ? std::optional(input.scalar_type()) : std::nullopt;
}

bool has_type(const arguments::PyList& values, at::ScalarType type) {
  return std::ranges::any_of(values, [&](const arguments::PyValue& value) {
    const auto* tensor = value.as<at::Tensor>();
    return tensor != nullptr && tensor->scalar_type() == type;
  });
}

}  // namespace msprobe::strict
