// SPDX-License-Identifier: Apache-2.0
// Python's operators on tensors, where they are more than an operator of ATen by another name.
#include "execute/api.h"

namespace msprobe::execute {
namespace {

// other OP self, where ATen only has self OP other.
template <const char* kName>
PyValue reflected(const Bound& a) {
  return call_aten(kName, {{a.value("other"), a.value("self")}});
}

constexpr char kPow[] = "pow";
constexpr char kRemainder[] = "remainder";
constexpr char kFloorDivide[] = "floor_divide";
constexpr char kLeftShift[] = "bitwise_left_shift";
constexpr char kRightShift[] = "bitwise_right_shift";
constexpr char kMatmul[] = "matmul";

PyValue reflected_div(const Bound& a) {
  return call_aten("mul", {{{a.tensor("self").reciprocal()}, a.value("other")}});
}

// x == None is False, not an error.
template <const char* kName, bool kWithNone>
PyValue compared(const Bound& a) {
  if (a.is_none("other")) return {kWithNone};
  return call_aten(kName, {{a.value("self"), a.value("other")}});
}

constexpr char kEq[] = "eq";
constexpr char kNe[] = "ne";

PyValue truth(const Bound& a) { return {a.tensor("self").is_nonzero()}; }

PyValue as_float(const Bound& a) { return {a.tensor("self").item<double>()}; }

PyValue as_int(const Bound& a) {
  const at::Scalar item = a.tensor("self").item();
  return {item.isFloatingPoint() ? static_cast<std::int64_t>(item.toDouble()) : item.toLong()};
}

PyValue index(const Bound& a) {
  const at::Tensor& self = a.tensor("self");
  if (!at::isIntegralType(self.scalar_type(), /*includeBool=*/true) || self.numel() != 1) {
    throw BindError("only integer tensors of a single element can be converted to an index");
  }
  return {self.item<std::int64_t>()};
}

PyValue length(const Bound& a) {
  const at::Tensor& self = a.tensor("self");
  if (self.dim() == 0) throw BindError("len() of a 0-d tensor");
  return {self.size(0)};
}

PyValue contains(const Bound& a) {
  const auto equal = call_aten("eq", {{a.value("element"), a.value("self")}});
  return {equal.as<at::Tensor>()->any().item<bool>()};
}

constexpr std::string_view kOne = "self";
constexpr std::string_view kTwo = "self, other";
constexpr ApiRow kOperatorRows[] = {
    {"Tensor.__bool__", kOne, &truth},
    {"Tensor.__contains__", "self, element", &contains},
    {"Tensor.__eq__", kTwo, &compared<kEq, false>},
    {"Tensor.__float__", kOne, &as_float},
    {"Tensor.__index__", kOne, &index},
    {"Tensor.__int__", kOne, &as_int},
    {"Tensor.__len__", kOne, &length},
    {"Tensor.__ne__", kTwo, &compared<kNe, true>},
    {"Tensor.__nonzero__", kOne, &truth},
    {"Tensor.__rdiv__", kTwo, &reflected_div},
    {"Tensor.__rfloordiv__", kTwo, &reflected<kFloorDivide>},
    {"Tensor.__rlshift__", kTwo, &reflected<kLeftShift>},
    {"Tensor.__rmatmul__", kTwo, &reflected<kMatmul>},
    {"Tensor.__rmod__", kTwo, &reflected<kRemainder>},
    {"Tensor.__rpow__", kTwo, &reflected<kPow>},
    {"Tensor.__rrshift__", kTwo, &reflected<kRightShift>},
    {"Tensor.__rtruediv__", kTwo, &reflected_div},
};

}  // namespace

std::span<const ApiRow> operator_rows() { return kOperatorRows; }

}  // namespace msprobe::execute
