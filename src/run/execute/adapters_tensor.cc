// SPDX-License-Identifier: Apache-2.0
// Methods of a tensor that convert it or tell about it.
#include <fmt/format.h>

#include "execute/api.h"

namespace msprobe::execute {
namespace {

template <at::ScalarType kType>
PyValue converted(const Bound& a) {
  const auto* format = a.value("memory_format").as<at::MemoryFormat>();
  return {a.tensor("self").to(kType, /*non_blocking=*/false, /*copy=*/false,
                              format == nullptr ? c10::optional<at::MemoryFormat>() : *format)};
}

// to(dtype), to(device[, dtype]), to(other); then non_blocking and copy.
PyValue to(const Bound& a) {
  const at::Tensor& self = a.tensor("self");
  at::TensorOptions options = self.options();
  std::vector<bool> flags;
  const auto take = [&](const PyValue& value) {
    if (const auto* dtype = value.as<at::ScalarType>()) options = options.dtype(*dtype);
    if (const auto* device = value.as<at::Device>()) options = options.device(*device);
    if (const auto* other = value.as<at::Tensor>()) {
      options = options.dtype(other->scalar_type()).device(other->device());
    }
    if (const auto* flag = value.as<bool>()) flags.push_back(*flag);
  };
  for (const PyValue& value : *a.value("args").as<PyList>()) take(value);
  for (const std::string_view name : {"device", "dtype", "other"}) take(a.value(name));
  const bool non_blocking = !flags.empty() ? flags[0] : a.boolean("non_blocking");
  const bool copy = flags.size() > 1 ? flags[1] : a.boolean("copy");
  const auto* format = a.value("memory_format").as<at::MemoryFormat>();
  return {self.to(options, non_blocking, copy,
                  format == nullptr ? c10::optional<at::MemoryFormat>() : *format)};
}

PyValue type(const Bound& a) {
  const auto dtype = a.opt_dtype("dtype");
  if (!dtype) return {std::string(c10::toString(a.tensor("self").scalar_type()))};
  return {a.tensor("self").to(*dtype)};
}

PyValue integers(at::IntArrayRef values) {
  PyList list;
  for (const std::int64_t value : values) list.push_back({value});
  return {std::move(list)};
}

PyValue stride(const Bound& a) {
  if (const auto dim = a.opt_integer("dim")) return {a.tensor("self").stride(*dim)};
  return integers(a.tensor("self").strides());
}

PyValue size(const Bound& a) {
  if (const auto dim = a.opt_integer("dim")) return {a.tensor("self").size(*dim)};
  return integers(a.tensor("self").sizes());
}

PyValue item(const Bound& a) {
  const at::Scalar value = a.tensor("self").item();
  if (value.isBoolean()) return {value.toBool()};
  if (value.isIntegral(/*includeBool=*/false)) return {value.toLong()};
  if (!value.isComplex()) return {value.toDouble()};
  const auto pair = value.toComplexDouble();
  return {std::complex<double>(pair.real(), pair.imag())};
}

// The elements of an ndarray are those of the tensor.
PyValue numpy(const Bound& a) { return {a.tensor("self").detach()}; }

constexpr std::string_view kConverted = "self, memory_format=None";
constexpr ApiRow kTensorRows[] = {
    {"Tensor.bfloat16", kConverted, &converted<at::kBFloat16>},
    {"Tensor.bool", kConverted, &converted<at::kBool>},
    {"Tensor.byte", kConverted, &converted<at::kByte>},
    {"Tensor.cdouble", kConverted, &converted<at::kComplexDouble>},
    {"Tensor.cfloat", kConverted, &converted<at::kComplexFloat>},
    {"Tensor.chalf", kConverted, &converted<at::kComplexHalf>},
    {"Tensor.char", kConverted, &converted<at::kChar>},
    {"Tensor.double", kConverted, &converted<at::kDouble>},
    {"Tensor.float", kConverted, &converted<at::kFloat>},
    {"Tensor.half", kConverted, &converted<at::kHalf>},
    {"Tensor.int", kConverted, &converted<at::kInt>},
    {"Tensor.item", "self", &item},
    {"Tensor.long", kConverted, &converted<at::kLong>},
    {"Tensor.numpy", "self, *, force=False", &numpy},
    {"Tensor.short", kConverted, &converted<at::kShort>},
    {"Tensor.size", "self, dim=None", &size},
    {"Tensor.stride", "self, dim=None", &stride},
    {"Tensor.to",
     "self, *args, device=None, dtype=None, other=None, non_blocking=False, copy=False, "
     "memory_format=None",
     &to},
    {"Tensor.type", "self, dtype=None, non_blocking=False", &type},
};

}  // namespace

std::span<const ApiRow> tensor_rows() { return kTensorRows; }

}  // namespace msprobe::execute
