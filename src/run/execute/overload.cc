// SPDX-License-Identifier: Apache-2.0
#include "execute/overload.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "ops/op.h"

namespace msprobe::execute {
namespace {

using c10::TypeKind;

ParameterKind list_kind(const c10::TypePtr& element) {
  switch (element->kind()) {
    case TypeKind::TensorType:
      return ParameterKind::kTensorList;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return ParameterKind::kIntList;
    case TypeKind::FloatType:
      return ParameterKind::kFloatList;
    case TypeKind::BoolType:
      return ParameterKind::kBoolList;
    case TypeKind::NumberType:
      return ParameterKind::kScalarList;
    case TypeKind::OptionalType:
      return element->castRaw<c10::OptionalType>()->getElementType()->kind() == TypeKind::TensorType
                 ? ParameterKind::kOptionalTensorList
                 : ParameterKind::kOther;
    default:
      return ParameterKind::kOther;
  }
}

ParameterKind kind_of(const c10::TypePtr& type) {
  switch (type->kind()) {
    case TypeKind::TensorType:
      return ParameterKind::kTensor;
    case TypeKind::NumberType:
      return ParameterKind::kScalar;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return ParameterKind::kInt;
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      return ParameterKind::kFloat;
    case TypeKind::BoolType:
      return ParameterKind::kBool;
    case TypeKind::StringType:
      return ParameterKind::kText;
    case TypeKind::ScalarTypeType:
      return ParameterKind::kDType;
    case TypeKind::LayoutType:
      return ParameterKind::kLayout;
    case TypeKind::MemoryFormatType:
      return ParameterKind::kMemoryFormat;
    case TypeKind::DeviceObjType:
      return ParameterKind::kDevice;
    case TypeKind::GeneratorType:
      return ParameterKind::kGenerator;
    case TypeKind::ListType:
      return list_kind(type->castRaw<c10::ListType>()->getElementType());
    default:  // SymBool came later than the others
      return type->str() == "SymBool" ? ParameterKind::kBool : ParameterKind::kOther;
  }
}

// Python's bindings cannot read the default of `reduction`, "at::Reduction::Mean", and take 0
// (none).
constexpr std::string_view kMisreadDefault = "reduction";

Parameter parameter_of(const c10::Argument& argument, OverloadStyle style) {
  Parameter parameter;
  parameter.name = argument.name();
  c10::TypePtr type = argument.real_type();
  if (const auto* optional = type->castRaw<c10::OptionalType>()) {
    parameter.nullable = true;
    type = optional->getElementType();
  }
  parameter.kind = kind_of(type);
  parameter.keyword_only = argument.kwarg_only();
  parameter.is_out = argument.is_out();
  parameter.list_size = static_cast<std::size_t>(argument.N().value_or(0));
  parameter.default_value = argument.default_value();
  if (style != OverloadStyle::kOperator && parameter.name == kMisreadDefault &&
      parameter.default_value) {
    parameter.default_value = c10::IValue(0);
  }
  return parameter;
}

// Python spells types in its own way, and sorts signatures by that spelling first.
std::string_view python_type(ParameterKind kind) {
  constexpr std::array kNames = std::to_array<std::string_view>(
      {"Tensor", "TensorList", "c10::List<::std::optional<Tensor>>", "Scalar", "ScalarList",
       "int64_t", "IntArrayRef", "double", "ArrayRef<double>", "bool", "ArrayRef<bool>",
       "c10::string_view", "ScalarType", "Layout", "MemoryFormat", "Device", "Generator", "Other"});
  return kNames[static_cast<std::size_t>(kind)];
}

std::string signature_text(const Overload& overload) {
  std::string text;
  bool star = false;
  for (const std::size_t i : overload.order) {
    const Parameter& parameter = overload.parameters[i];
    if (parameter.keyword_only && !std::exchange(star, true)) text += "*, ";
    text += python_type(parameter.kind);
    if (parameter.list_size != 0) text += fmt::format("[{}]", parameter.list_size);
    if (parameter.nullable) text += '?';
    text += fmt::format(" {}{}, ", parameter.name, parameter.default_value ? "=" : "");
  }
  return text;
}

// Whether `first` takes less than `second`, so that Python tries it later.
bool is_smaller(const Parameter& first, const Parameter& second) {
  using enum ParameterKind;
  if (first.kind == kScalar) return second.kind == kTensor && first.nullable == second.nullable;
  if (first.kind == kIntList && first.list_size == 0) return second.kind == kInt;
  if (first.kind == kTensorList) {
    return second.kind == kIntList || second.kind == kFloatList || second.kind == kBoolList ||
           second.kind == kScalarList || second.kind == kOptionalTensorList;
  }
  if (first.kind == kInt) return second.kind == kTensor && !second.nullable && !first.nullable;
  return false;
}

bool is_same(const Parameter& first, const Parameter& second) {
  return first.kind == second.kind && first.nullable == second.nullable &&
         first.list_size == second.list_size;
}

bool is_smaller(const Overload& first, const Overload& second) {
  if (first.order.size() != second.order.size()) return false;
  bool equal = true;
  for (std::size_t i = 0; i < first.order.size(); ++i) {
    const Parameter& a = first.parameters[first.order[i]];
    const Parameter& b = second.parameters[second.order[i]];
    if (is_same(a, b)) continue;
    equal = false;
    if (!is_smaller(a, b)) return false;
  }
  return !equal;
}

// Python's order: by text, but none before one that takes more.
void sort_as_python(std::vector<Overload>& overloads) {
  std::ranges::sort(overloads, {}, signature_text);
  std::vector<Overload> sorted;
  std::vector<bool> done(overloads.size());
  while (sorted.size() < overloads.size()) {
    const std::size_t before = sorted.size();
    for (std::size_t i = 0; i < overloads.size(); ++i) {
      const auto waits_for = [&](std::size_t j) {
        return !done[j] && is_smaller(overloads[i], overloads[j]);
      };
      std::vector<std::size_t> others(overloads.size());
      std::iota(others.begin(), others.end(), 0U);
      if (done[i] || std::ranges::any_of(others, waits_for)) continue;
      sorted.push_back(overloads[i]);
      done[i] = true;
    }
    if (sorted.size() == before) return;  // a circle: keep the order by text
  }
  overloads = std::move(sorted);
}

// A signature that Python still takes though it warns; parameters by the schema's names.
struct DeprecatedRow {
  std::string_view name;
  std::array<std::string_view, 5> parameters;
};
constexpr DeprecatedRow kDeprecated[] = {
    {"add", {"self", "alpha", "other"}},
    {"sub", {"self", "alpha", "other"}},
    {"addbmm", {"beta", "self", "alpha", "batch1", "batch2"}},
    {"addbmm", {"beta", "self", "batch1", "batch2"}},
    {"addcdiv", {"self", "value", "tensor1", "tensor2"}},
    {"addcmul", {"self", "value", "tensor1", "tensor2"}},
    {"addmm", {"beta", "self", "alpha", "mat1", "mat2"}},
    {"addmm", {"beta", "self", "mat1", "mat2"}},
    {"addmv", {"beta", "self", "alpha", "mat", "vec"}},
    {"addmv", {"beta", "self", "mat", "vec"}},
    {"addr", {"beta", "self", "alpha", "vec1", "vec2"}},
    {"addr", {"beta", "self", "vec1", "vec2"}},
    {"baddbmm", {"beta", "self", "alpha", "batch1", "batch2"}},
    {"baddbmm", {"beta", "self", "batch1", "batch2"}},
    {"sspaddmm", {"beta", "self", "alpha", "mat1", "mat2"}},
    {"sspaddmm", {"beta", "self", "mat1", "mat2"}},
};

c10::optional<Overload> reordered(Overload overload, const DeprecatedRow& row,
                                  OverloadStyle style) {
  std::vector<std::size_t> order;
  for (const std::string_view name : row.parameters) {
    if (name.empty() || (name == "self" && style == OverloadStyle::kMethod)) continue;
    const auto found = std::ranges::find(overload.parameters, name, &Parameter::name);
    if (found == overload.parameters.end()) return c10::nullopt;
    found->keyword_only = false;
    found->default_value.reset();
    order.push_back(static_cast<std::size_t>(found - overload.parameters.begin()));
  }
  overload.order = std::move(order);
  overload.positional = overload.order.size();
  return overload;
}

void append_deprecated(OverloadSet& set) {
  const std::size_t count = set.overloads.size();
  const std::string_view name = set.name;
  const std::string_view plain = name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
  for (const DeprecatedRow& row : kDeprecated) {
    if (row.name != plain) continue;
    for (std::size_t i = 0; i < count; ++i) {
      // The variants with a second Tensor; with a Scalar the order is not deprecated.
      const auto& parameters = set.overloads[i].parameters;
      if (parameters[1].kind != ParameterKind::kTensor) continue;
      if (auto overload = reordered(set.overloads[i], row, set.style)) {
        set.overloads.push_back(*std::move(overload));
      }
    }
  }
}

c10::optional<Overload> overload_of(const c10::OperatorHandle& op, OverloadStyle style) {
  Overload overload{op, {}, {}, 0, 0, {}, {}};
  bool has_self = false;
  for (const c10::Argument& argument : op.schema().arguments()) {
    const std::size_t i = overload.parameters.size();
    const Parameter& parameter = overload.parameters.emplace_back(parameter_of(argument, style));
    overload.defaults.push_back(parameter.default_value.value_or(c10::IValue()));
    if (parameter.is_out) {
      overload.outs.push_back(i);
    } else if (style == OverloadStyle::kMethod && parameter.name == "self") {
      overload.self = i;
      has_self = true;
    } else {
      overload.order.push_back(i);
      if (!parameter.keyword_only) ++overload.positional;
    }
  }
  if (style == OverloadStyle::kMethod && !has_self) return c10::nullopt;
  return overload;
}

// The overload names of every operator, by name with its namespace. Made once.
const std::vector<std::string>& overload_names(const std::string& name) {
  static const auto kIndex = [] {
    std::unordered_map<std::string, std::vector<std::string>> index;
    for (const c10::OperatorName& op : c10::Dispatcher::singleton().getAllOpNames()) {
      index[op.name].push_back(op.overload_name);
    }
    return index;
  }();
  static const std::vector<std::string> kNoNames;
  const auto found = kIndex.find(name);
  return found == kIndex.end() ? kNoNames : found->second;
}

bool takes_numbers_as_tensors(std::string_view name) {
  if (name.ends_with('_')) name.remove_suffix(1);
  return ops::traits_of(name).numbers_as_tensors;
}

}  // namespace

OverloadSet find_overloads(std::string_view name, OverloadStyle style, std::string_view overload) {
  OverloadSet set{std::string(name), style, takes_numbers_as_tensors(name), {}};
  const bool is_qualified = name.find("::") != std::string_view::npos;
  const std::string qualified = is_qualified ? std::string(name) : fmt::format("aten::{}", name);
  for (const std::string& overload_name : overload_names(qualified)) {
    if (!overload.empty() && overload_name != overload) continue;
    const auto op = c10::Dispatcher::singleton().findSchema({qualified, overload_name});
    if (!op) continue;
    if (auto found = overload_of(*op, style)) set.overloads.push_back(*std::move(found));
  }
  sort_as_python(set.overloads);
  if (style != OverloadStyle::kOperator) {
    append_deprecated(set);
  } else {
    // torch.ops tries them as they are registered: the one without a name first.
    std::ranges::stable_partition(set.overloads, [](const Overload& candidate) {
      return candidate.op.schema().overload_name().empty();
    });
  }
  return set;
}

}  // namespace msprobe::execute
