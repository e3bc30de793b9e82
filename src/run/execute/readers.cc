// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "execute/adapter.h"

namespace msprobe::execute {
namespace {

[[noreturn]] void wrong(std::string_view name, std::string_view wanted) {
  throw BindError(fmt::format("argument '{}' must be {}", name, wanted));
}

template <class T>
T required(c10::optional<T> value, std::string_view name, std::string_view wanted) {
  if (!value) wrong(name, wanted);
  return *std::move(value);
}

bool is_single(const at::Tensor& tensor) { return tensor.dim() == 0 && !tensor.requires_grad(); }

}  // namespace

c10::optional<std::int64_t> as_integer(const PyValue& value) {
  if (const auto* integer = value.as<std::int64_t>()) return *integer;
  if (const auto* flag = value.as<bool>()) return *flag ? 1 : 0;
  if (const auto* tensor = value.as<at::Tensor>()) {
    if (is_single(*tensor) && at::isIntegralType(tensor->scalar_type(), /*includeBool=*/false)) {
      return tensor->item<std::int64_t>();
    }
  }
  return c10::nullopt;
}

c10::optional<double> as_real(const PyValue& value) {
  if (const auto* real = value.as<double>()) return *real;
  if (const auto* tensor = value.as<at::Tensor>()) {
    if (is_single(*tensor) && !tensor->is_complex()) return tensor->item<double>();
  }
  if (const auto integer = as_integer(value)) return static_cast<double>(*integer);
  return c10::nullopt;
}

c10::optional<at::Scalar> as_scalar(const PyValue& value) {
  if (const auto* flag = value.as<bool>()) return at::Scalar(*flag);
  if (const auto* integer = value.as<std::int64_t>()) return at::Scalar(*integer);
  if (const auto* real = value.as<double>()) return at::Scalar(*real);
  if (const auto* pair = value.as<std::complex<double>>()) {
    return at::Scalar(c10::complex<double>(*pair));
  }
  if (const auto* tensor = value.as<at::Tensor>()) {
    if (is_single(*tensor)) return tensor->item();
  }
  return c10::nullopt;
}

c10::optional<std::vector<std::int64_t>> as_integers(const PyValue& value) {
  if (const auto* size = value.as<dump::SizeValue>()) return size->extents;
  const auto* list = value.as<PyList>();
  if (list == nullptr) return c10::nullopt;
  std::vector<std::int64_t> integers;
  integers.reserve(list->size());
  for (const PyValue& item : *list) {
    const auto integer = as_integer(item);
    if (!integer) return c10::nullopt;
    integers.push_back(*integer);
  }
  return integers;
}

const at::Tensor& Bound::tensor(std::string_view name) const {
  const auto* tensor = value(name).as<at::Tensor>();
  if (tensor == nullptr) wrong(name, "Tensor");
  return *tensor;
}

c10::optional<at::Tensor> Bound::opt_tensor(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return tensor(name);
}

at::Tensor Bound::tensor_or_undefined(std::string_view name) const {
  return is_none(name) ? at::Tensor() : tensor(name);
}

std::vector<at::Tensor> Bound::tensors(std::string_view name) const {
  const auto* list = value(name).as<PyList>();
  if (list == nullptr) wrong(name, "a list or tuple of Tensors");
  std::vector<at::Tensor> tensors;
  tensors.reserve(list->size());
  for (const PyValue& item : *list) {
    const auto* tensor = item.as<at::Tensor>();
    if (tensor == nullptr) wrong(name, "a list or tuple of Tensors");
    tensors.push_back(*tensor);
  }
  return tensors;
}

at::Scalar Bound::scalar(std::string_view name) const {
  return required(as_scalar(value(name)), name, "a number");
}

c10::optional<at::Scalar> Bound::opt_scalar(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return scalar(name);
}

std::int64_t Bound::integer(std::string_view name) const {
  return required(as_integer(value(name)), name, "int");
}

c10::optional<std::int64_t> Bound::opt_integer(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return integer(name);
}

double Bound::real(std::string_view name) const {
  return required(as_real(value(name)), name, "float");
}

c10::optional<double> Bound::opt_real(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return real(name);
}

bool Bound::boolean(std::string_view name) const {
  const PyValue& flag = value(name);
  if (const auto* boolean = flag.as<bool>()) return *boolean;
  return required(as_integer(flag), name, "bool") != 0;
}

c10::optional<bool> Bound::opt_boolean(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return boolean(name);
}

const std::string& Bound::text(std::string_view name) const {
  const auto* text = value(name).as<std::string>();
  if (text == nullptr) wrong(name, "str");
  return *text;
}

c10::optional<std::string> Bound::opt_text(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  return text(name);
}

c10::optional<at::ScalarType> Bound::opt_dtype(std::string_view name) const {
  if (is_none(name)) return c10::nullopt;
  const auto* dtype = value(name).as<at::ScalarType>();
  if (dtype == nullptr) wrong(name, "torch.dtype");
  return *dtype;
}

std::vector<std::int64_t> Bound::integers(std::string_view name, std::size_t count) const {
  if (count != 0) {
    if (const auto one = as_integer(value(name))) return std::vector<std::int64_t>(count, *one);
  }
  return required(as_integers(value(name)), name, "a tuple of ints");
}

c10::optional<std::vector<std::int64_t>> Bound::opt_integers(std::string_view name,
                                                             std::size_t count) const {
  if (is_none(name)) return c10::nullopt;
  return integers(name, count);
}

std::vector<double> Bound::reals(std::string_view name) const {
  const auto* list = value(name).as<PyList>();
  if (list == nullptr) wrong(name, "a tuple of floats");
  std::vector<double> reals;
  reals.reserve(list->size());
  for (const PyValue& item : *list)
    reals.push_back(required(as_real(item), name, "a tuple of floats"));
  return reals;
}

PyValue tuple_of(std::initializer_list<at::Tensor> tensors) {
  return list_of(std::vector<at::Tensor>(tensors));
}

PyValue list_of(std::vector<at::Tensor> tensors) {
  PyList items;
  items.reserve(tensors.size());
  for (at::Tensor& tensor : tensors) items.push_back({std::move(tensor)});
  return {std::move(items)};
}

}  // namespace msprobe::execute
