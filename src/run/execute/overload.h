// SPDX-License-Identifier: Apache-2.0
// Overload: one operator schema as Python's argument parser sees it. OverloadSet: all that share a
// name, in the order in which that parser tries them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libtorch/aten.h"

namespace msprobe::execute {

enum class ParameterKind : std::uint8_t {
  kTensor,
  kTensorList,
  kOptionalTensorList,  // Tensor?[]
  kScalar,
  kScalarList,
  kInt,
  kIntList,
  kFloat,
  kFloatList,
  kBool,
  kBoolList,
  kText,
  kDType,
  kLayout,
  kMemoryFormat,
  kDevice,
  kGenerator,
  kOther,  // nothing a dump can hold
};

struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::kOther;
  bool nullable = false;  // T?
  bool keyword_only = false;
  bool is_out = false;        // written result: Tensor(a!) after the star
  std::size_t list_size = 0;  // int[2]: one int stands for two
  c10::optional<c10::IValue> default_value;
};

// How the API is written in Python: torch.name(input, ...), tensor.name(...), torch.ops.aten.name.
enum class OverloadStyle : std::uint8_t { kFunction, kMethod, kOperator };

struct Overload {
  c10::OperatorHandle op;
  std::vector<Parameter> parameters;  // in schema order
  std::vector<std::size_t> order;     // Python's parameters: indexes, without self of a method and
                                      // without written results
  std::size_t positional = 0;         // how many of `order` may be positional
  std::size_t self = 0;               // kMethod: the index of self
  std::vector<std::size_t> outs;      // indexes of written results
  torch::jit::Stack defaults;         // one per parameter; None if there is no default
};

struct OverloadSet {
  std::string name;  // as asked for, without "aten::"
  OverloadStyle style = OverloadStyle::kFunction;
  bool numbers_as_tensors = false;  // a number may stand for a Tensor: add(x, 2)
  std::vector<Overload> overloads;
};

// Of aten, or as `name` says ("npu::npu_mish"). Empty if the linked PyTorch has no such
// operator. `overload` (torch.ops.aten.add.Tensor) leaves that one only.
OverloadSet find_overloads(std::string_view name, OverloadStyle style,
                           std::string_view overload = {});

}  // namespace msprobe::execute
