// SPDX-License-Identifier: Apache-2.0
// The element types a dump can name, and what is known of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace msprobe {

enum class DType : std::uint8_t {
  kBool,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex32,  // two float16
  kComplex64,  // two float32
  kComplex128,
  kFloat8E4M3,  // float8_e4m3fn: no infinities
  kFloat8E5M2,
  kHiFloat8,
  kFloat8E4M3Fnuz,
  kFloat8E5M2Fnuz,
  kFloat8E8M0,    // a power of two: the scale of a block
  kFloat4E2M1x2,  // two numbers in an element, the first in the low half
};

inline constexpr std::size_t kDTypeCount = static_cast<std::size_t>(DType::kFloat4E2M1x2) + 1;

enum class DTypeClass : std::uint8_t { kBool, kInteger, kFloat, kFloat8, kComplex, kPacked };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // without "torch.": "float16"
  std::string_view text;  // as dump.json and the CSVs spell it: "torch.float16"
  std::size_t size_bytes;
  DTypeClass kind;
};

const DTypeInfo& info(DType dtype);

inline std::string_view name(DType dtype) { return info(dtype).name; }
inline std::string_view text(DType dtype) { return info(dtype).text; }
inline std::size_t size_bytes(DType dtype) { return info(dtype).size_bytes; }
inline bool is_float(DType dtype) { return info(dtype).kind == DTypeClass::kFloat; }
inline bool is_float8(DType dtype) { return info(dtype).kind == DTypeClass::kFloat8; }
// Several numbers in an element.
inline bool is_packed(DType dtype) { return info(dtype).kind == DTypeClass::kPacked; }
inline bool is_complex(DType dtype) { return info(dtype).kind == DTypeClass::kComplex; }
inline bool is_integer_or_bool(DType dtype) {
  return info(dtype).kind == DTypeClass::kInteger || info(dtype).kind == DTypeClass::kBool;
}

// Accepts "torch.float16", "float16", the aliases PyTorch prints or takes (half, float, double,
// short, int, long, cfloat, cdouble), "torch_npu.HiFloat8Tensor" and MindSpore's spelling
// ("Float16").
std::optional<DType> parse_dtype(std::string_view text);

}  // namespace msprobe
