// SPDX-License-Identifier: Apache-2.0
// tensor[key] and tensor[key] = value.
#include <algorithm>

#include "execute/api.h"
#include "libtorch/indexing.h"

namespace msprobe::execute {
namespace {

using at::indexing::TensorIndex;

// The truth values or ints of a (nested) list, in a row, with its shape.
struct Flat {
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> shape;
  bool truth = true;
};

void flatten(const PyList& list, std::size_t depth, Flat& flat) {
  if (flat.shape.size() == depth) flat.shape.push_back(static_cast<std::int64_t>(list.size()));
  for (const PyValue& item : list) {
    if (const auto* inner = item.as<PyList>()) {
      flatten(*inner, depth + 1, flat);
      continue;
    }
    const auto value = as_integer(item);
    if (!value) throw BindError("an index list holds something other than ints and bools");
    flat.truth = flat.truth && item.as<bool>() != nullptr;
    flat.values.push_back(*value);
  }
}

at::Tensor tensor_of(const PyList& list) {
  Flat flat;
  flatten(list, 0, flat);
  const at::Tensor tensor = at::tensor(flat.values, at::kLong).view(flat.shape);
  return flat.truth && !flat.values.empty() ? tensor.to(at::kBool) : tensor;
}

TensorIndex index_of(const PyValue& key, const at::Tensor& self) {
  if (key.is_none()) return TensorIndex(at::indexing::None);
  if (key.as<dump::Ellipsis>() != nullptr) return TensorIndex(at::indexing::Ellipsis);
  if (const auto* flag = key.as<bool>()) return TensorIndex(*flag);
  if (const auto* integer = key.as<std::int64_t>()) return TensorIndex(*integer);
  if (const auto* slice = key.as<dump::Slice>()) {
    return TensorIndex(libtorch::slice(slice->start, slice->stop, slice->step));
  }
  if (const auto* tensor = key.as<at::Tensor>()) {
    return TensorIndex(libtorch::index_tensor(*tensor).to(self.device()));
  }
  if (const auto* list = key.as<PyList>()) return TensorIndex(tensor_of(*list).to(self.device()));
  throw BindError("only integers, slices, ellipsis, None, lists and tensors index a tensor");
}

// A dump writes a tuple and a list alike. As Python takes a list for a tuple where it holds
// anything but plain numbers, only those are left: the recorded output tells which was meant.
bool is_tuple(const PyList& list, const at::Tensor& self, const PyCall& call) {
  const bool plain = std::ranges::all_of(list, [](const PyValue& item) {
    return item.as<std::int64_t>() != nullptr || item.as<bool>() != nullptr;
  });
  if (!plain) return true;
  if (!call.output_shape) return static_cast<std::int64_t>(list.size()) <= self.dim();
  const auto rank = static_cast<std::int64_t>(call.output_shape->size());
  const bool truth = !list.empty() && list.front().as<bool>() != nullptr;
  return !truth && rank == self.dim() - static_cast<std::int64_t>(list.size());
}

std::vector<TensorIndex> indices_of(const Bound& a) {
  const at::Tensor& self = a.tensor("self");
  const PyValue& key = a.value("key");
  std::vector<TensorIndex> indices;
  const auto* list = key.as<PyList>();
  if (list != nullptr && is_tuple(*list, self, a.call())) {
    for (const PyValue& item : *list) indices.push_back(index_of(item, self));
  } else {
    indices.push_back(index_of(key, self));
  }
  return indices;
}

PyValue get_item(const Bound& a) {
  return {at::indexing::get_item(a.tensor("self"), indices_of(a))};
}

PyValue set_item(const Bound& a) {
  const at::Tensor& self = a.tensor("self");
  const PyValue& value = a.value("value");
  const auto* tensor = value.as<at::Tensor>();
  // As in Python, a number becomes a tensor of the same device: not every back end takes one of the
  // CPU.
  const at::Tensor source =
      tensor != nullptr ? *tensor : at::scalar_tensor(a.scalar("value"), self.options());
  at::indexing::set_item(self, indices_of(a), source);
  return {dump::None{}};
}

constexpr ApiRow kIndexRows[] = {
    {"Tensor.__getitem__", "self, key", &get_item},
    {"Tensor.__setitem__", "self, key, value", &set_item},
};

}  // namespace

std::span<const ApiRow> index_rows() { return kIndexRows; }

}  // namespace msprobe::execute
