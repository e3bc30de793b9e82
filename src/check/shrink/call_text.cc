// SPDX-License-Identifier: Apache-2.0
#include "shrink/call_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/call_name.h"
#include "shrink/python_literal.h"

namespace msprobe::shrink {
namespace {

using namespace dump;

// From this many tensors in a row on, a slice is written.
constexpr std::size_t kManyTensors = 3;

// Leaves are numbered over all arguments, as their files are.
class Arguments {
 public:
  Arguments(CallText& text, const std::string& tensors) : text_(text), tensors_(tensors) {}

  std::string text_of(const Value& value) {
    if (const auto literal = python_literal(value)) return leaf(*literal);
    return std::visit(*this, value.data);
  }

  std::string operator()(const List& list) {
    if (list.size() >= kManyTensors && std::ranges::all_of(list, &is_tensor)) return slice_of(list);
    std::string text = "[";
    for (const Value& value : list) text += (text.size() > 1 ? ", " : "") + text_of(value);
    return text + "]";
  }
  std::string operator()(const Dict& dict) {
    std::string text = "{";
    for (const auto& [key, value] : dict) {
      text +=
          fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", python_text(key), text_of(value));
    }
    return text + "}";
  }
  std::string operator()(const TensorRecord& record) {
    text_.tensors.emplace_back(&record, leaf_++);
    return fmt::format("{}[{}]", tensors_, text_.tensors.size() - 1);
  }
  std::string operator()(const SizeValue& value) {
    return leaf(fmt::format("torch.Size([{}])", fmt::join(value.extents, ", ")));
  }
  std::string operator()(const DTypeValue& value) {
    const auto dtype = parse_dtype(value.text);
    return leaf(dtype ? std::string(msprobe::text(*dtype)) : python_text(value.text));
  }
  std::string operator()(const DeviceValue&) { return leaf("device"); }
  std::string operator()(const MemoryFormatValue& value) {
    const std::string_view name = std::string_view(value.text).substr(value.text.rfind('.') + 1);
    return leaf(is_python_name(name) ? fmt::format("torch.{}", name) : "None");
  }
  template <class Other>  // what python_literal knows is not asked for here
  std::string operator()(const Other&) {
    return leaf("None");
  }

 private:
  static bool is_tensor(const Value& value) { return value.as<TensorRecord>() != nullptr; }

  // "t[3:19]"
  std::string slice_of(const List& list) {
    const std::size_t first = text_.tensors.size();
    for (const Value& value : list) text_of(value);
    return fmt::format("{}[{}:{}]", tensors_, first, text_.tensors.size());
  }

  std::string leaf(std::string text) {
    ++leaf_;
    return text;
  }

  CallText& text_;
  const std::string& tensors_;
  std::size_t leaf_ = 0;
};

// An index is a tuple, which is recorded as a list.
bool is_index(std::string_view api, std::size_t place) {
  return place == 1 && (api == "Tensor.__getitem__" || api == "Tensor.__setitem__");
}

// What PyTorch's C++ gives back as the list that was changed is None in Python.
bool returns_nothing(std::string_view bare) {
  return bare.starts_with("_foreach_") && bare.ends_with("_");
}

bool is_true(const Value& value) {
  const bool* truth = value.as<bool>();
  return truth != nullptr && *truth;
}

}  // namespace

CallText call_text(const CallRecord& call, const std::string& tensors) {
  CallText text;
  Arguments arguments(text, tensors);
  const std::string_view api = api_of(call.full_name);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < call.forward.input_args.size(); ++i) {
    const Value& value = call.forward.input_args[i];
    std::string word = arguments.text_of(value);
    if (is_index(api, i) && value.as<List>() != nullptr) {
      word = fmt::format("({},)", std::string_view(word).substr(1, word.size() - 2));
    }
    words.push_back(std::move(word));
  }
  const bool method = api.starts_with("Tensor.") && !call.forward.input_args.empty() &&
                      call.forward.input_args.front().as<TensorRecord>() != nullptr;
  std::string function = python_name(call.full_name);
  if (method) {
    function = fmt::format("{}.{}", words.front(), api.substr(api.find('.') + 1));
    words.erase(words.begin());
  }
  for (const auto& [key, value] : call.forward.input_kwargs) {
    const std::string word = arguments.text_of(value);
    words.push_back(is_python_name(key) ? fmt::format("{}={}", key, word)
                                        : fmt::format("**{{{}: {}}}", python_text(key), word));
  }
  text.expression = fmt::format("{}({})", function, fmt::join(words, ", "));
  if (returns_nothing(api.substr(api.rfind('.') + 1)) && !words.empty()) {
    text.expression = fmt::format("[{} or {}]", text.expression, words.front());
  }
  return text;
}

bool changes_arguments(const CallRecord& call) {
  if (!call.forward.mutated.empty()) return true;
  const std::string_view api = api_of(call.full_name);
  const std::string_view bare = api.substr(api.rfind('.') + 1);
  if (bare.starts_with("__i") && bare.ends_with("__") && bare != "__invert__") return true;
  if (bare == "__setitem__" || (bare.ends_with("_") && !bare.ends_with("__"))) return true;
  for (const auto& [key, value] : call.forward.input_kwargs) {
    if (key == "out" || (key == "inplace" && is_true(value))) return true;
  }
  return false;
}

std::string tensor_at(const CallRecord& call, const std::string& place,
                      const std::string& tensors) {
  // The places of all tensors, in their order.
  std::size_t count = 0;
  std::string found;
  const auto walk = [&](const auto& self, const Value& value, const std::string& at) -> void {
    if (value.as<TensorRecord>() != nullptr) {
      if (at == place) found = fmt::format("{}[{}]", tensors, count);
      ++count;
    } else if (const auto* list = value.as<List>()) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        self(self, (*list)[i], fmt::format("{}.{}", at, i));
      }
    } else if (const auto* dict = value.as<Dict>()) {
      for (const auto& [key, item] : *dict) self(self, item, at + "." + key);
    }
  };
  for (std::size_t i = 0; i < call.forward.input_args.size(); ++i) {
    walk(walk, call.forward.input_args[i], fmt::format("{}", i));
  }
  for (const auto& [key, value] : call.forward.input_kwargs) walk(walk, value, "kwargs." + key);
  return found;
}

std::string python_name(const std::string& full_name) {
  const std::size_t dot = full_name.find('.');
  const std::string type = full_name.substr(0, dot);
  const std::string bare(api_of(full_name).substr(dot + 1));
  if (type == "Functional" || type == "MintFunctional") return "torch.nn.functional." + bare;
  if (type == "Tensor") return "torch.Tensor." + bare;
  if (type == "VF") return "torch._VF." + bare;
  if (type == "Aten") return "torch.ops.aten." + bare;
  return (type == "NPU" ? "torch_npu." : "torch.") + bare;
}

}  // namespace msprobe::shrink
