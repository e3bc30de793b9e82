// SPDX-License-Identifier: Apache-2.0
#include <ATen/ScalarOps.h>

#include "execute/bind.h"

namespace msprobe::execute {
namespace {

using c10::IValue;
using Converted = c10::optional<IValue>;

// Python's parser takes no truth value for an int.
c10::optional<std::int64_t> strict_integer(const PyValue& value) {
  if (value.as<bool>() != nullptr) return c10::nullopt;
  return as_integer(value);
}

Converted tensor(const PyValue& value, bool numbers_as_tensors) {
  if (const auto* tensor = value.as<at::Tensor>()) return IValue(*tensor);
  if (!numbers_as_tensors) return c10::nullopt;
  if (const auto number = as_scalar(value))
    return IValue(at::native::wrapped_scalar_tensor(*number));
  return c10::nullopt;
}

Converted tensor_list(const PyValue& value) {
  const auto* items = value.as<PyList>();
  if (items == nullptr) return c10::nullopt;
  c10::List<at::Tensor> list;
  list.reserve(items->size());
  for (const PyValue& item : *items) {
    const auto* tensor = item.as<at::Tensor>();
    if (tensor == nullptr) return c10::nullopt;
    list.push_back(*tensor);
  }
  return IValue(std::move(list));
}

Converted optional_tensor_list(const PyValue& value) {
  const auto* items = value.as<PyList>();
  if (items == nullptr) return c10::nullopt;
  c10::List<c10::optional<at::Tensor>> list;
  list.reserve(items->size());
  for (const PyValue& item : *items) {
    const auto* tensor = item.as<at::Tensor>();
    if (tensor == nullptr && !item.is_none()) return c10::nullopt;
    list.push_back(tensor == nullptr ? c10::optional<at::Tensor>() : *tensor);
  }
  return IValue(std::move(list));
}

Converted integer_list(const PyValue& value, std::size_t list_size) {
  if (const auto* size = value.as<dump::SizeValue>()) return IValue(size->extents);
  if (const auto* items = value.as<PyList>()) {
    std::vector<std::int64_t> list;
    list.reserve(items->size());
    for (const PyValue& item : *items) {
      const auto integer = strict_integer(item);
      if (!integer) return c10::nullopt;
      list.push_back(*integer);
    }
    return IValue(std::move(list));
  }
  if (list_size == 0) return c10::nullopt;
  if (const auto integer = strict_integer(value)) {
    return IValue(std::vector<std::int64_t>(list_size, *integer));
  }
  return c10::nullopt;
}

Converted real_list(const PyValue& value, std::size_t list_size) {
  if (const auto* items = value.as<PyList>()) {
    std::vector<double> list;
    list.reserve(items->size());
    for (const PyValue& item : *items) {
      const auto real = as_real(item);
      if (!real) return c10::nullopt;
      list.push_back(*real);
    }
    return IValue(std::move(list));
  }
  if (list_size == 0) return c10::nullopt;
  if (const auto real = as_real(value)) return IValue(std::vector<double>(list_size, *real));
  return c10::nullopt;
}

Converted scalar_list(const PyValue& value) {
  const auto* items = value.as<PyList>();
  if (items == nullptr) return c10::nullopt;
  c10::List<at::Scalar> list;
  list.reserve(items->size());
  for (const PyValue& item : *items) {
    const auto number = as_scalar(item);
    if (!number) return c10::nullopt;
    list.push_back(*number);
  }
  return IValue(std::move(list));
}

Converted truth_list(const PyValue& value) {
  const auto* items = value.as<PyList>();
  if (items == nullptr) return c10::nullopt;
  c10::List<bool> list;
  list.reserve(items->size());
  for (const PyValue& item : *items) {
    const auto* flag = item.as<bool>();
    if (flag == nullptr) return c10::nullopt;
    list.push_back(*flag);
  }
  return IValue(std::move(list));
}

Converted device(const PyValue& value) {
  if (const auto* device = value.as<at::Device>()) return IValue(*device);
  if (const auto* text = value.as<std::string>()) return IValue(at::Device(*text));
  return c10::nullopt;
}

template <class Wanted, class T>
Converted enumerator(const PyValue& value) {
  const auto* found = value.as<Wanted>();
  if (found == nullptr) return c10::nullopt;
  return IValue(static_cast<T>(*found));
}

PyValue from_scalar(const at::Scalar& scalar) {
  if (scalar.isBoolean()) return {scalar.toBool()};
  if (scalar.isIntegral(/*includeBool=*/false)) return {scalar.toLong()};
  if (scalar.isComplex()) {
    const c10::complex<double> pair = scalar.toComplexDouble();
    return {std::complex<double>(pair.real(), pair.imag())};
  }
  return {scalar.toDouble()};
}

template <class List>
PyValue from_list(const List& list) {
  PyList items;
  items.reserve(list.size());
  for (const auto& item : list) items.push_back(from_ivalue(IValue(item)));
  return {std::move(items)};
}

}  // namespace

Converted to_ivalue(const PyValue& value, const Parameter& parameter, bool numbers_as_tensors) {
  switch (parameter.kind) {
    case ParameterKind::kTensor:
      return tensor(value, numbers_as_tensors);
    case ParameterKind::kTensorList:
      return tensor_list(value);
    case ParameterKind::kOptionalTensorList:
      return optional_tensor_list(value);
    case ParameterKind::kScalar:
      if (const auto number = as_scalar(value)) return IValue(*number);
      return c10::nullopt;
    case ParameterKind::kScalarList:
      return scalar_list(value);
    case ParameterKind::kInt:
      if (const auto integer = strict_integer(value)) return IValue(*integer);
      return c10::nullopt;
    case ParameterKind::kIntList:
      return integer_list(value, parameter.list_size);
    case ParameterKind::kFloat:
      if (const auto real = as_real(value)) return IValue(*real);
      return c10::nullopt;
    case ParameterKind::kFloatList:
      return real_list(value, parameter.list_size);
    case ParameterKind::kBool:
      return enumerator<bool, bool>(value);
    case ParameterKind::kBoolList:
      return truth_list(value);
    case ParameterKind::kText:
      if (const auto* text = value.as<std::string>()) return IValue(*text);
      return c10::nullopt;
    case ParameterKind::kDType:
      return enumerator<at::ScalarType, std::int64_t>(value);
    case ParameterKind::kLayout:
      return enumerator<at::Layout, std::int64_t>(value);
    case ParameterKind::kMemoryFormat:
      return enumerator<at::MemoryFormat, std::int64_t>(value);
    case ParameterKind::kDevice:
      return device(value);
    case ParameterKind::kGenerator:
    case ParameterKind::kOther:
      return c10::nullopt;
  }
  return c10::nullopt;
}

PyValue from_ivalue(const IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return {dump::None{}};
    return {tensor};
  }
  if (value.isTensorList()) return from_list(value.toTensorVector());
  if (value.isTuple()) return from_list(value.toTupleRef().elements());
  if (value.isList()) return from_list(value.toListRef());
  if (value.isString()) return {value.toStringRef()};
  if (value.isDevice()) return {value.toDevice()};
  if (value.isScalar()) return from_scalar(value.toScalar());
  if (value.isNone()) return {dump::None{}};
  throw BindError("result of a type that Python does not return: " + value.tagKind());
}

}  // namespace msprobe::execute
