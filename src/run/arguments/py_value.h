// SPDX-License-Identifier: Apache-2.0
// PyValue: an argument or a result as Python would hold it, tensors made.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dump/call_record.h"
#include "libtorch/aten.h"

namespace msprobe::arguments {

struct PyValue;
using PyList = std::vector<PyValue>;  // a list or a tuple
using PyDict = std::vector<std::pair<std::string, PyValue>>;

struct PyValue {
  using Variant =
      std::variant<dump::None, bool, std::int64_t, double, std::complex<double>, std::string,
                   dump::Ellipsis, dump::Slice, dump::SizeValue, at::ScalarType, at::Device,
                   at::MemoryFormat, at::Layout, at::Tensor, PyList, PyDict>;
  Variant data;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
  bool is_none() const { return std::holds_alternative<dump::None>(data); }
};

// One call's arguments, as Python's caller wrote them.
struct PyCall {
  PyList args;
  PyDict kwargs = {};
  // Of the first recorded output: tells x[0, 2] from x[[0, 2]], which a dump writes alike.
  std::optional<Shape> output_shape = {};
  // For functions of the user's. What float32 and narrower became, where they were raised.
  c10::optional<at::ScalarType> raised = {};
  // What autocast makes of float32 before the operator sees it.
  c10::optional<at::ScalarType> autocast = {};

  // The argument that has this name, or else the one at this place; null if there is neither.
  const PyValue* find(std::size_t place, std::string_view name) const {
    for (const auto& [key, value] : kwargs) {
      if (key == name) return &value;
    }
    return place < args.size() ? &args[place] : nullptr;
  }
};

}  // namespace msprobe::arguments
