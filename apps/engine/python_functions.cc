// SPDX-License-Identifier: Apache-2.0
#include "python_functions.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include "execute/value_tree.h"
#include "libtorch/dtypes.h"

namespace msprobe::engine {
namespace {

namespace dom = simdjson::dom;

using arguments::PyCall;
using arguments::PyDict;
using arguments::PyList;
using arguments::PyValue;
using execute::UserError;

constexpr int kDeepest = 64;
constexpr std::string_view kEvery = "*";

struct Answer {
  std::string text;
  std::vector<at::Tensor> tensors;
};

// A string of JSON.
std::string json_text(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      all += {'\\', c};
    } else if (static_cast<unsigned char>(c) < ' ') {
      all += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      all += c;
    }
  }
  return all + '"';
}

std::string number(double value) {
  if (std::isfinite(value)) {
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  return fmt::format(R"({{"f":"{}"}})", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

std::string whole(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : "null";
}

std::string_view format_name(at::MemoryFormat format) {
  switch (format) {
    case at::MemoryFormat::Preserve:
      return "preserve_format";
    case at::MemoryFormat::ChannelsLast:
      return "channels_last";
    case at::MemoryFormat::ChannelsLast3d:
      return "channels_last_3d";
    default:
      return "contiguous_format";
  }
}

// What JSON has no form for is an object of one key.
class Encoder {
 public:
  explicit Encoder(std::vector<at::Tensor>& tensors) : tensors_(tensors) {}

  std::string value(const PyValue& value) {
    return std::visit([&](const auto& data) { return text(data); }, value.data);
  }

  std::string list(const PyList& values) {
    std::vector<std::string> items;
    for (const PyValue& item : values) items.push_back(value(item));
    return fmt::format("[{}]", fmt::join(items, ","));
  }

  std::string dict(const PyDict& values) {
    std::vector<std::string> items;
    for (const auto& [key, item] : values) items.push_back(json_text(key) + ":" + value(item));
    return fmt::format("{{{}}}", fmt::join(items, ","));
  }

 private:
  std::string text(const dump::None&) { return "null"; }
  std::string text(bool flag) { return flag ? "true" : "false"; }
  std::string text(std::int64_t integer) { return fmt::format("{}", integer); }
  std::string text(double real) { return number(real); }
  std::string text(const std::complex<double>& complex) {
    return fmt::format(R"({{"c":[{},{}]}})", number(complex.real()), number(complex.imag()));
  }
  std::string text(const std::string& plain) { return json_text(plain); }
  std::string text(const dump::Ellipsis&) { return R"({"e":null})"; }
  std::string text(const dump::Slice& slice) {
    return fmt::format(R"({{"s":[{},{},{}]}})", whole(slice.start), whole(slice.stop),
                       whole(slice.step));
  }
  std::string text(const dump::SizeValue& size) {
    return fmt::format(R"({{"z":[{}]}})", fmt::join(size.extents, ","));
  }
  std::string text(at::ScalarType type) {
    return fmt::format(R"({{"d":{}}})", json_text(libtorch::text(type)));
  }
  std::string text(const at::Device& device) {
    return fmt::format(R"({{"v":{}}})", json_text(device.str()));
  }
  std::string text(at::MemoryFormat format) {
    return fmt::format(R"({{"m":"{}"}})", format_name(format));
  }
  std::string text(at::Layout layout) {
    return fmt::format(R"({{"l":"{}"}})", layout == at::kStrided ? "strided" : "sparse_coo");
  }
  std::string text(const at::Tensor& tensor) {
    if (!tensor.defined()) return "null";
    tensors_.push_back(tensor);
    return fmt::format(R"({{"t":{}}})", tensors_.size() - 1);
  }
  std::string text(const PyList& values) { return list(values); }
  std::string text(const PyDict& values) { return fmt::format(R"({{"k":{}}})", dict(values)); }

  std::vector<at::Tensor>& tensors_;
};

[[noreturn]] void malformed() {
  throw UserError(SkipReason::kReferenceFailed, "a message of Python's cannot be read");
}

class Decoder {
 public:
  explicit Decoder(const std::vector<at::Tensor>& tensors) : tensors_(tensors) {}

  PyValue value(const dom::element& element, int depth = 0) {
    if (depth > kDeepest) malformed();
    switch (element.type()) {
      case dom::element_type::NULL_VALUE:
        return {dump::None{}};
      case dom::element_type::BOOL:
        return {bool(element)};
      case dom::element_type::INT64:
        return {std::int64_t(element)};
      case dom::element_type::UINT64:
        return {static_cast<double>(std::uint64_t(element))};
      case dom::element_type::DOUBLE:
        return {double(element)};
      case dom::element_type::STRING:
        return {std::string(std::string_view(element))};
      case dom::element_type::ARRAY:
        return {list(dom::array(element), depth)};
      default:
        return object(dom::object(element), depth);
    }
  }

  PyList list(const dom::array& items, int depth) {
    PyList values;
    for (const dom::element item : items) values.push_back(value(item, depth + 1));
    return values;
  }

  PyDict dict(const dom::object& items, int depth) {
    PyDict values;
    for (const auto& [key, item] : items)
      values.emplace_back(std::string(key), value(item, depth + 1));
    return values;
  }

 private:
  PyValue object(const dom::object& parts, int depth) {
    std::int64_t place = 0;
    if (!parts["t"].get(place)) {
      if (place < 0 || static_cast<std::size_t>(place) >= tensors_.size()) malformed();
      return {tensors_[static_cast<std::size_t>(place)]};
    }
    std::string_view text;
    if (!parts["f"].get(text)) {
      return {text == "inf" ? HUGE_VAL : text == "-inf" ? -HUGE_VAL : std::nan("")};
    }
    if (!parts["d"].get(text)) {
      const auto known = parse_dtype(text);
      const auto type = known ? libtorch::scalar_type(*known) : std::nullopt;
      if (!type) malformed();
      return {*type};
    }
    dom::array items;
    if (!parts["z"].get(items)) {
      dump::SizeValue size;
      for (const dom::element item : items) size.extents.push_back(std::int64_t(item));
      return {std::move(size)};
    }
    double real = 0, imaginary = 0;
    if (!parts["c"].get(items) && items.size() == 2 && !items.at(0).get(real) &&
        !items.at(1).get(imaginary)) {
      return {std::complex<double>(real, imaginary)};
    }
    dom::object keys;
    if (!parts["k"].get(keys)) return {dict(keys, depth)};
    malformed();
  }

  const std::vector<at::Tensor>& tensors_;
};

template <class Take>
auto parsed(std::string_view json, const Take& take) {
  dom::parser parser;
  dom::element found;
  if (parser.parse(simdjson::padded_string(json)).get(found)) malformed();
  return take(found);
}

// Whether a name of the user's means this API: "Functional.layer_norm", or "layer_norm" of any
// type.
bool means(std::string_view given, std::string_view api) {
  if (given == kEvery || given == api) return true;
  const std::size_t dot = api.find('.');
  return dot != std::string_view::npos && given == api.substr(dot + 1);
}

class PythonFunctions : public execute::UserFunctions {
 public:
  PythonFunctions(MsprobeRunFunction run, std::string_view names) : run_(run) {
    parsed(names, [&](const dom::element& found) {
      read(found, "references", references_);
      read(found, "kernels", kernels_);
      read(found, "compared", compared_);
      return true;
    });
  }

  const std::vector<std::string>& kernels() const { return kernels_; }

  const execute::Api* reference(std::string_view api) const override {
    return find(references_, "reference", api, SkipReason::kReferenceFailed);
  }

  const execute::Api* kernel(std::string_view api) const override {
    return find(kernels_, "kernel", api, SkipReason::kDeviceFailed);
  }

  PyValue compared(std::string_view api, const PyValue& output, const PyCall& call) const override {
    if (!has(compared_, api)) return output;
    PyCall all = call;
    all.args.insert(all.args.begin(), output);
    all.raised = all.autocast = c10::nullopt;
    return ask("compared", api, all, SkipReason::kReferenceFailed);
  }

 private:
  using Names = std::vector<std::string>;

  static void read(const dom::element& found, const char* key, Names& names) {
    dom::array items;
    if (found[key].get(items)) return;
    for (const dom::element item : items) names.emplace_back(std::string_view(item));
  }

  static bool has(const Names& names, std::string_view api) {
    return std::ranges::any_of(names, [&](const std::string& name) { return means(name, api); });
  }

  const execute::Api* find(const Names& names, std::string_view part, std::string_view api,
                           SkipReason reason) const {
    if (!has(names, api)) return nullptr;
    const std::string key = fmt::format("{} {}", part, api);
    auto found = known_.find(key);
    if (found == known_.end()) {
      const auto run = [this, part = std::string(part), api = std::string(api),
                        reason](const PyCall& call) { return ask(part, api, call, reason); };
      found =
          known_
              .emplace(key,
                       std::make_unique<execute::Api>(std::function<PyValue(const PyCall&)>(run)))
              .first;
    }
    return found->second.get();
  }

  PyValue ask(std::string_view part, std::string_view api, const PyCall& call,
              SkipReason reason) const {
    std::vector<at::Tensor> tensors;
    Encoder encoder(tensors);
    const auto type = [](const c10::optional<at::ScalarType>& given) {
      return given ? json_text(libtorch::text(*given)) : std::string("null");
    };
    std::string shape = "null";
    if (call.output_shape) shape = fmt::format("[{}]", fmt::join(*call.output_shape, ","));
    const std::string request = fmt::format(
        R"({{"do":"{}","api":{},"raised":{},"autocast":{},"shape":{},"args":{},"kwargs":{}}})",
        part, json_text(api), type(call.raised), type(call.autocast), shape,
        encoder.list(call.args), encoder.dict(call.kwargs));
    std::vector<const void*> places;
    for (const at::Tensor& tensor : tensors) places.push_back(&tensor);
    Answer answer;
    run_(request.c_str(), places.data(), static_cast<int>(places.size()), &answer);
    return parsed(answer.text, [&](const dom::element& found) {
      std::string_view error;
      if (!found["error"].get(error)) {
        bool on_device = true;
        const bool told = !found["on_device"].get(on_device);
        throw UserError(told && !on_device ? SkipReason::kNotOnDevice : reason, std::string(error));
      }
      dom::element value;
      if (found["value"].get(value)) malformed();
      return Decoder(answer.tensors).value(value);
    });
  }

  MsprobeRunFunction run_;
  Names references_, kernels_, compared_;
  mutable std::unordered_map<std::string, std::unique_ptr<execute::Api>> known_;
};

std::unique_ptr<PythonFunctions>& held() {
  static std::unique_ptr<PythonFunctions> functions;
  return functions;
}

}  // namespace

const execute::UserFunctions* user_functions() { return held().get(); }

std::vector<std::string> user_kernels() {
  return held() == nullptr ? std::vector<std::string>() : held()->kernels();
}

std::string json_of(const PyValue& value, std::vector<at::Tensor>& tensors) {
  return Encoder(tensors).value(value);
}

PyValue value_of_json(std::string_view json, const std::vector<at::Tensor>& tensors) {
  return parsed(json, [&](const dom::element& found) { return Decoder(tensors).value(found); });
}

PyCall call_of_json(std::string_view json, const std::vector<at::Tensor>& tensors) {
  return parsed(json, [&](const dom::element& found) {
    dom::array args;
    dom::object kwargs;
    if (found["args"].get(args) || found["kwargs"].get(kwargs)) malformed();
    Decoder decoder(tensors);
    return PyCall{decoder.list(args, 0), decoder.dict(kwargs, 0)};
  });
}

std::vector<at::Tensor> shared_tensors(const void* const* implementations, int count) {
  using Pointer = c10::intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>;
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < count; ++i) {
    auto* implementation = static_cast<at::TensorImpl*>(const_cast<void*>(implementations[i]));
    tensors.emplace_back(Pointer::unsafe_reclaim_from_nonowning(implementation));
  }
  return tensors;
}

}  // namespace msprobe::engine

void msprobe_engine_set_functions(MsprobeRunFunction run, const char* names) {
  using namespace msprobe::engine;
  held() = std::make_unique<PythonFunctions>(run, names);
}

void msprobe_engine_answer(void* answer, const char* text, const void* const* tensors, int count) {
  auto* const given = static_cast<msprobe::engine::Answer*>(answer);
  given->text = text;
  given->tensors = msprobe::engine::shared_tensors(tensors, count);
}
