// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace msprobe {
namespace {

constexpr std::array<DTypeInfo, kDTypeCount> kTypes{{
    {DType::kBool, "bool", "torch.bool", 1, DTypeClass::kBool},
    {DType::kUInt8, "uint8", "torch.uint8", 1, DTypeClass::kInteger},
    {DType::kUInt16, "uint16", "torch.uint16", 2, DTypeClass::kInteger},
    {DType::kUInt32, "uint32", "torch.uint32", 4, DTypeClass::kInteger},
    {DType::kUInt64, "uint64", "torch.uint64", 8, DTypeClass::kInteger},
    {DType::kInt8, "int8", "torch.int8", 1, DTypeClass::kInteger},
    {DType::kInt16, "int16", "torch.int16", 2, DTypeClass::kInteger},
    {DType::kInt32, "int32", "torch.int32", 4, DTypeClass::kInteger},
    {DType::kInt64, "int64", "torch.int64", 8, DTypeClass::kInteger},
    {DType::kFloat16, "float16", "torch.float16", 2, DTypeClass::kFloat},
    {DType::kBFloat16, "bfloat16", "torch.bfloat16", 2, DTypeClass::kFloat},
    {DType::kFloat32, "float32", "torch.float32", 4, DTypeClass::kFloat},
    {DType::kFloat64, "float64", "torch.float64", 8, DTypeClass::kFloat},
    {DType::kComplex32, "complex32", "torch.complex32", 4, DTypeClass::kComplex},
    {DType::kComplex64, "complex64", "torch.complex64", 8, DTypeClass::kComplex},
    {DType::kComplex128, "complex128", "torch.complex128", 16, DTypeClass::kComplex},
    {DType::kFloat8E4M3, "float8_e4m3fn", "torch.float8_e4m3fn", 1, DTypeClass::kFloat8},
    {DType::kFloat8E5M2, "float8_e5m2", "torch.float8_e5m2", 1, DTypeClass::kFloat8},
    {DType::kHiFloat8, "hifloat8", "torch_npu.HiFloat8Tensor", 1, DTypeClass::kFloat8},
    {DType::kFloat8E4M3Fnuz, "float8_e4m3fnuz", "torch.float8_e4m3fnuz", 1, DTypeClass::kFloat8},
    {DType::kFloat8E5M2Fnuz, "float8_e5m2fnuz", "torch.float8_e5m2fnuz", 1, DTypeClass::kFloat8},
    {DType::kFloat8E8M0, "float8_e8m0fnu", "torch.float8_e8m0fnu", 1, DTypeClass::kFloat8},
    {DType::kFloat4E2M1x2, "float4_e2m1fn_x2", "torch.float4_e2m1fn_x2", 1, DTypeClass::kPacked},
}};
static_assert(std::ranges::is_sorted(kTypes, {}, &DTypeInfo::dtype), "kTypes is indexed by DType");

struct Alias {
  std::string_view name;
  DType dtype;
};
constexpr Alias kAliases[] = {
    {"half", DType::kFloat16},
    {"float", DType::kFloat32},
    {"double", DType::kFloat64},
    {"short", DType::kInt16},
    {"int", DType::kInt32},
    {"long", DType::kInt64},
    {"chalf", DType::kComplex32},
    {"cfloat", DType::kComplex64},
    {"cdouble", DType::kComplex128},
    {"torch_npu.hifloat8tensor", DType::kHiFloat8},
    {"hifloat8tensor", DType::kHiFloat8},
};

}  // namespace

const DTypeInfo& info(DType dtype) { return kTypes[static_cast<std::size_t>(dtype)]; }

std::optional<DType> parse_dtype(std::string_view text) {
  if (text.size() > 40) return std::nullopt;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view bare = lower;
  if (bare.starts_with("torch.")) bare.remove_prefix(6);
  for (const DTypeInfo& row : kTypes) {
    if (bare == row.name) return row.dtype;
  }
  for (const Alias& alias : kAliases) {
    if (bare == alias.name) return alias.dtype;
  }
  return std::nullopt;
}

}  // namespace msprobe
