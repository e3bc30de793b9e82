// SPDX-License-Identifier: Apache-2.0
// Small tensors for tests: values in, encoded elements out.
#pragma once

#include <complex>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "core/float_formats.h"
#include "core/tensor.h"

namespace msprobe::measure {

struct TestTensor {
  DType dtype = DType::kFloat32;
  std::vector<std::byte> bytes;

  TensorView view() const { return {dtype, {}, bytes}; }

  template <class T>
  void append(T element) {
    const auto* source = reinterpret_cast<const std::byte*>(&element);
    bytes.insert(bytes.end(), source, source + sizeof(T));
  }

  void append_value(double value) {
    switch (dtype) {
      case DType::kFloat16:
        return append(double_to_float16(value));
      case DType::kBFloat16:
        return append(double_to_bfloat16(value));
      case DType::kFloat32:
        return append(static_cast<float>(value));
      default:
        return append(value);
    }
  }
};

// REQUIRES: float16, bfloat16, float32 or float64.
template <class Values = std::initializer_list<double>>
TestTensor tensor_of(DType dtype, const Values& values) {
  TestTensor tensor{.dtype = dtype, .bytes = {}};
  for (const double value : values) tensor.append_value(value);
  return tensor;
}

// Elements given as they are stored.
template <class T>
TestTensor stored(DType dtype, std::initializer_list<T> elements) {
  TestTensor tensor{.dtype = dtype, .bytes = {}};
  for (const T element : elements) tensor.append(element);
  return tensor;
}

}  // namespace msprobe::measure
