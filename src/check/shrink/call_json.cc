// SPDX-License-Identifier: Apache-2.0
#include "shrink/call_json.h"

#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include "core/json_writer.h"
#include "dump/dump_json.h"

namespace msprobe::shrink {
namespace {

using namespace dump;

std::string text_of(const Value& value);

std::string json_string(std::string_view text) { return JsonWriter().value(text).text(); }

// As Python writes it, NaN and infinities included.
std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string statistic(const Statistic& value) {
  if (value.kind == Statistic::Kind::kInteger) return fmt::format("{}", value.integer);
  return value.kind == Statistic::Kind::kReal ? number(value.real) : "null";
}

std::string list_of(const List& list) {
  std::string text = "[";
  for (const Value& value : list) text += (text.size() > 1 ? ", " : "") + text_of(value);
  return text + "]";
}

std::string dict_of(const Dict& dict) {
  std::string text = "{";
  for (const auto& [key, value] : dict) {
    text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", json_string(key), text_of(value));
  }
  return text + "}";
}

std::string typed(std::string_view type, std::string_view value) {
  return fmt::format(R"({{"type": "{}", "value": {}}})", type, value);
}

std::string bound(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : "null";
}

struct Writer {
  std::string operator()(const None&) const { return "null"; }
  std::string operator()(bool value) const { return typed("bool", value ? "true" : "false"); }
  std::string operator()(std::int64_t value) const {
    return typed("int", fmt::format("{}", value));
  }
  std::string operator()(double value) const { return typed("float", number(value)); }
  std::string operator()(const std::complex<double>& value) const {
    return typed("complex", fmt::format("[{}, {}]", number(value.real()), number(value.imag())));
  }
  std::string operator()(const std::string& value) const {
    return typed("str", json_string(value));
  }
  std::string operator()(const Ellipsis&) const { return typed("ellipsis", "\"...\""); }
  std::string operator()(const Slice& value) const {
    return typed("slice", fmt::format("[{}, {}, {}]", bound(value.start), bound(value.stop),
                                      bound(value.step)));
  }
  std::string operator()(const SizeValue& value) const {
    return typed("torch.Size", fmt::format("[{}]", fmt::join(value.extents, ", ")));
  }
  std::string operator()(const DTypeValue& value) const {
    return typed("torch.dtype", json_string(value.text));
  }
  std::string operator()(const DeviceValue& value) const {
    return typed("torch.device", json_string(value.text));
  }
  std::string operator()(const MemoryFormatValue& value) const {
    return fmt::format(R"({{"type": "torch.memory_format", "format": {}}})",
                       json_string(value.text));
  }
  std::string operator()(const Opaque& value) const {
    return value.type.empty() ? "{}" : fmt::format(R"({{"type": {}}})", json_string(value.type));
  }
  std::string operator()(const TensorRecord& value) const {
    std::string text = fmt::format(
        R"({{"type": "torch.Tensor", "dtype": {}, "shape": [{}], "Max": {}, "Min": {}, "Mean": {}, )"
        R"("Norm": {}, "requires_grad": {})",
        json_string(value.dtype_text), fmt::join(value.shape, ", "), statistic(value.max),
        statistic(value.min), statistic(value.mean), statistic(value.norm), value.requires_grad);
    if (!value.data_name.empty())
      text += fmt::format(R"(, "data_name": {})", json_string(value.data_name));
    return text + "}";
  }
  std::string operator()(const List& value) const { return list_of(value); }
  std::string operator()(const Dict& value) const { return dict_of(value); }
};

std::string text_of(const Value& value) { return std::visit(Writer{}, value.data); }

}  // namespace

std::string json_of(const ForwardRecord& forward) {
  std::string text = fmt::format(R"({{"input_args": {}, "input_kwargs": {}, "output": {})",
                                 list_of(forward.input_args), dict_of(forward.input_kwargs),
                                 list_of(forward.output));
  if (!forward.mutated.empty()) {
    text += fmt::format(R"(, "mutated": {})", dict_of(forward.mutated));
  }
  return text + "}";
}

std::string json_of(const BackwardRecord& backward) {
  return fmt::format(R"({{"input": {}, "output": {}}})", list_of(backward.input),
                     list_of(backward.output));
}

std::string dump_of(const CallRecord& call, bool with_data, std::string_view framework) {
  std::string text = fmt::format(
      "{{\"task\": \"{}\", \"level\": \"L1\", \"framework\": \"{}\", \"dump_data_dir\": {}, "
      "\"data\": {{\n\"{}.forward\": {}",
      with_data ? "tensor" : "statistics", framework,
      with_data ? json_string(kDataDirectory) : "null", call.full_name, json_of(call.forward));
  if (call.backward) {
    text += fmt::format(",\n\"{}.backward\": {}", call.full_name, json_of(*call.backward));
  }
  return text + "\n}}\n";
}

}  // namespace msprobe::shrink
