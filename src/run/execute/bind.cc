// SPDX-License-Identifier: Apache-2.0
#include "execute/bind.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "execute/float32_arguments.h"

namespace msprobe::execute {
namespace {

using c10::IValue;
using torch::jit::Stack;

struct NumpyName {
  std::string_view numpy;
  std::string_view torch;
};
constexpr NumpyName kNumpyNames[] = {{"axis", "dim"}, {"keepdims", "keepdim"}, {"x", "self"},
                                     {"a", "self"},   {"x1", "self"},          {"x2", "other"}};

const PyValue* keyword(const PyCall& call, std::string_view name, OverloadStyle style) {
  const std::string_view python =
      style == OverloadStyle::kFunction && name == "self" ? "input" : name;
  const auto find = [&](std::string_view wanted) -> const PyValue* {
    const auto found = std::ranges::find(
        call.kwargs, wanted, [](const auto& item) -> std::string_view { return item.first; });
    return found == call.kwargs.end() ? nullptr : &found->second;
  };
  if (call.kwargs.empty()) return nullptr;
  if (const PyValue* value = find(python)) return value;
  if (style == OverloadStyle::kOperator) return nullptr;
  for (const NumpyName& row : kNumpyNames) {
    if (row.torch != name) continue;
    if (const PyValue* value = find(row.numpy)) return value;
  }
  return nullptr;
}

// One attempt: fills a stack, or finds that the overload does not take the call.
class Attempt {
 public:
  Attempt(const OverloadSet& set, const Overload& overload, const PyCall& call)
      : set_(set), overload_(overload), call_(call), stack_(overload.defaults) {}

  bool bind() {
    std::size_t position = 0;
    if (is_method()) {
      if (call_.args.empty() || !put(overload_.self, call_.args[0])) return false;
      position = 1;
    }
    const std::size_t given = call_.args.size() - position;
    // One list of ints as the only positional parameter may be written out: view(2, 3).
    const bool spread = overload_.positional == 1 &&
                        overload_.parameters[overload_.order[0]].kind == ParameterKind::kIntList;
    if (given > overload_.positional && !spread) return false;
    for (const std::size_t i : overload_.order) {
      const Parameter& parameter = overload_.parameters[i];
      if (position < call_.args.size()) {
        if (parameter.keyword_only) return false;
        const PyValue& value = call_.args[position];
        if (put(i, value)) {
          ++position;
        } else if (spread && put_spread(i, position)) {
          position = call_.args.size();
        } else {
          return false;
        }
      } else if (!put_keyword(i)) {
        return false;
      }
    }
    return position == call_.args.size() && put_outs() && used_keywords_ == call_.kwargs.size();
  }
  Stack take() { return std::move(stack_); }

 private:
  bool is_method() const { return set_.style == OverloadStyle::kMethod; }

  bool put(std::size_t i, const PyValue& value) {
    const Parameter& parameter = overload_.parameters[i];
    if (value.is_none() && takes_none(parameter)) {
      stack_[i] = IValue();
      return true;
    }
    auto converted = to_ivalue(value, parameter, set_.numbers_as_tensors);
    if (!converted) return false;
    stack_[i] = *std::move(converted);
    return true;
  }

  static bool takes_none(const Parameter& parameter) {
    return parameter.nullable || (parameter.default_value && parameter.default_value->isNone());
  }

  bool put_spread(std::size_t i, std::size_t position) {
    const auto first = call_.args.begin() + static_cast<std::ptrdiff_t>(position);
    if (!as_integer(*first)) return false;
    return put(i, {PyList(first, call_.args.end())});
  }

  bool put_keyword(std::size_t i) {
    const Parameter& parameter = overload_.parameters[i];
    const PyValue* value = keyword(call_, parameter.name, set_.style);
    if (value != nullptr) {
      ++used_keywords_;
      return put(i, *value);
    }
    return parameter.default_value.has_value();
  }

  // out=tensor, or out=(tensor, tensor) for several results.
  bool put_outs() {
    const PyValue* out = overload_.outs.empty() ? nullptr : keyword(call_, "out", set_.style);
    for (std::size_t n = 0; n < overload_.outs.size(); ++n) {
      const std::size_t i = overload_.outs[n];
      const PyValue* value = keyword(call_, overload_.parameters[i].name, set_.style);
      if (out != nullptr) {
        const auto* list = out->as<PyList>();
        if (list != nullptr && n >= list->size()) return false;
        value = list == nullptr || overload_.parameters[i].kind == ParameterKind::kTensorList
                    ? out
                    : &(*list)[n];
      } else if (value != nullptr) {
        ++used_keywords_;
      }
      if (value == nullptr || !put(i, *value)) return false;
    }
    if (out != nullptr) ++used_keywords_;
    return true;
  }

  const OverloadSet& set_;
  const Overload& overload_;
  const PyCall& call_;
  Stack stack_;
  std::size_t used_keywords_ = 0;
};

std::string_view type_text(const PyValue& value) {
  constexpr std::array kNames = std::to_array<std::string_view>(
      {"NoneType", "bool", "int", "float", "complex", "str", "ellipsis", "slice", "torch.Size",
       "torch.dtype", "torch.device", "torch.memory_format", "torch.layout", "Tensor", "list",
       "dict"});
  static_assert(kNames.size() == std::variant_size_v<PyValue::Variant>);
  return kNames[value.data.index()];
}

[[noreturn]] void refuse(const OverloadSet& set, const PyCall& call) {
  std::string got;
  for (const PyValue& value : call.args)
    got += fmt::format("{}{}", got.empty() ? "" : ", ", type_text(value));
  for (const auto& [name, value] : call.kwargs) {
    got += fmt::format("{}{}={}", got.empty() ? "" : ", ", name, type_text(value));
  }
  throw BindError(
      fmt::format("{}() received an invalid combination of arguments - got ({})", set.name, got));
}

// Factories take requires_grad and names; neither changes the values. None of them is in a schema.
PyCall without_factory_keywords(const PyCall& call) {
  PyCall plain = call;
  std::erase_if(plain.kwargs, [](const auto& item) {
    return item.first == "requires_grad" || item.first == "generator" ||
           (item.first == "names" && item.second.is_none()) ||
           (item.first == "out" && item.second.is_none());
  });
  return plain;
}

// torch._foreach_add_(list, 1): the schema returns nothing, Python the list that was changed, which
// is recorded as one result.
bool returns_changed_list(std::string_view name) {
  return name.starts_with("_foreach_") && name.ends_with('_');
}

c10::optional<PyValue> try_overloads(const OverloadSet& set, const PyCall& call) {
  for (const Overload& overload : set.overloads) {
    Attempt attempt(set, overload, call);
    if (!attempt.bind()) continue;
    Stack stack = attempt.take();
    const IValue first = returns_changed_list(set.name) ? stack.front() : IValue();
    const Float32Arguments float32(overload.op.schema(), stack);
    overload.op.callBoxed(&stack);
    float32.write_back();
    if (stack.empty()) {
      return first.isNone() ? PyValue{dump::None{}} : PyValue{PyList{from_ivalue(first)}};
    }
    if (stack.size() == 1) return from_ivalue(stack[0]);
    PyList results;
    results.reserve(stack.size());
    for (const IValue& result : stack) results.push_back(from_ivalue(result));
    return PyValue{std::move(results)};
  }
  return c10::nullopt;
}

}  // namespace

PyValue call_overloads(const OverloadSet& set, const PyCall& call) {
  if (auto result = try_overloads(set, call)) return *std::move(result);
  if (!call.kwargs.empty()) {
    const PyCall plain = without_factory_keywords(call);
    if (plain.kwargs.size() < call.kwargs.size()) {
      if (auto result = try_overloads(set, plain)) return *std::move(result);
    }
  }
  refuse(set, call);
}

}  // namespace msprobe::execute
