// SPDX-License-Identifier: Apache-2.0
#include "ge/element_type.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/code_formats.h"

namespace msprobe::ge {
namespace {

constexpr ElementType kTypes[] = {
    {0, "DT_UNDEFINED", "undefined", 8, Storage::kPlain, DType::kInt8},
    {1, "DT_FLOAT", "float32", 32, Storage::kPlain, DType::kFloat32},
    {2, "DT_FLOAT16", "float16", 16, Storage::kPlain, DType::kFloat16},
    {3, "DT_INT8", "int8", 8, Storage::kPlain, DType::kInt8},
    {4, "DT_UINT8", "uint8", 8, Storage::kPlain, DType::kUInt8},
    {5, "DT_INT16", "int16", 16, Storage::kPlain, DType::kInt16},
    {6, "DT_UINT16", "uint16", 16, Storage::kPlain, DType::kUInt16},
    {7, "DT_INT32", "int32", 32, Storage::kPlain, DType::kInt32},
    {8, "DT_INT64", "int64", 64, Storage::kPlain, DType::kInt64},
    {9, "DT_UINT32", "uint32", 32, Storage::kPlain, DType::kUInt32},
    {10, "DT_UINT64", "uint64", 64, Storage::kPlain, DType::kUInt64},
    {11, "DT_BOOL", "bool", 8, Storage::kPlain, DType::kBool},
    {12, "DT_DOUBLE", "float64", 64, Storage::kPlain, DType::kFloat64},
    {13, "DT_STRING", "string", 0, Storage::kOpaque, DType::kUInt8},
    {14, "DT_DUAL_SUB_INT8", "dual_sub_int8", 8, Storage::kPlain, DType::kInt8},
    {15, "DT_DUAL_SUB_UINT8", "dual_sub_uint8", 8, Storage::kPlain, DType::kUInt8},
    {16, "DT_COMPLEX64", "complex64", 64, Storage::kPlain, DType::kComplex64},
    {17, "DT_COMPLEX128", "complex128", 128, Storage::kPlain, DType::kComplex128},
    {18, "DT_QINT8", "qint8", 8, Storage::kPlain, DType::kInt8},
    {19, "DT_QINT16", "qint16", 16, Storage::kPlain, DType::kInt16},
    {20, "DT_QINT32", "qint32", 32, Storage::kPlain, DType::kInt32},
    {21, "DT_QUINT8", "quint8", 8, Storage::kPlain, DType::kUInt8},
    {22, "DT_QUINT16", "quint16", 16, Storage::kPlain, DType::kUInt16},
    {23, "DT_RESOURCE", "resource", 64, Storage::kPlain, DType::kInt64},
    {24, "DT_STRING_REF", "string_ref", 0, Storage::kOpaque, DType::kUInt8},
    {25, "DT_DUAL", "dual", 40, Storage::kOpaque, DType::kUInt8},
    {26, "DT_VARIANT", "variant", 64, Storage::kOpaque, DType::kUInt8},
    {27, "DT_BF16", "bfloat16", 16, Storage::kPlain, DType::kBFloat16},
    {28, "DT_INT4", "int4", 4, Storage::kInt4, DType::kInt8},
    {29, "DT_UINT1", "uint1", 1, Storage::kUInt1, DType::kInt8},
    {30, "DT_INT2", "int2", 2, Storage::kInt2, DType::kInt8},
    {31, "DT_UINT2", "uint2", 2, Storage::kUInt2, DType::kInt8},
    {32, "DT_COMPLEX32", "complex32", 32, Storage::kPlain, DType::kComplex32},
    {33, "DT_HIFLOAT8", "hifloat8", 8, Storage::kPlain, DType::kHiFloat8},
    {34, "DT_FLOAT8_E5M2", "float8_e5m2", 8, Storage::kPlain, DType::kFloat8E5M2},
    {35, "DT_FLOAT8_E4M3FN", "float8_e4m3fn", 8, Storage::kPlain, DType::kFloat8E4M3},
    {36, "DT_FLOAT8_E8M0", "float8_e8m0", 8, Storage::kE8M0, DType::kFloat32},
    {37, "DT_FLOAT6_E3M2", "float6_e3m2", 6, Storage::kE3M2, DType::kFloat32},
    {38, "DT_FLOAT6_E2M3", "float6_e2m3", 6, Storage::kE2M3, DType::kFloat32},
    {39, "DT_FLOAT4_E2M1", "float4_e2m1", 4, Storage::kE2M1, DType::kFloat32},
    {40, "DT_FLOAT4_E1M2", "float4_e1m2", 4, Storage::kE1M2, DType::kFloat32},
    {41, "DT_HIFLOAT4", "hifloat4", 4, Storage::kOpaque, DType::kUInt8},
    {42, "DT_HIFLOAT4_SCALE", "hifloat4_scale", 8, Storage::kOpaque, DType::kUInt8},
};

// The place is the ACL number, the value the code of ge.proto.
constexpr std::array<std::uint8_t, 43> kCodeOfAcl = {
    1,  2,  3,  7,  4,  0,  5, 6,  9,  8,  10, 12, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 0, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41};

struct FormatRow {
  std::uint32_t format;
  std::string_view name;
};
constexpr FormatRow kFormats[] = {
    {0, "NCHW"},
    {1, "NHWC"},
    {2, "ND"},
    {3, "NC1HWC0"},
    {4, "FRACTAL_Z"},
    {5, "NC1C0HWPAD"},
    {6, "NHWC1C0"},
    {7, "FSR_NCHW"},
    {8, "FRACTAL_DECONV"},
    {9, "C1HWNC0"},
    {10, "FRACTAL_DECONV_TRANSPOSE"},
    {11, "FRACTAL_DECONV_SP_STRIDE_TRANS"},
    {12, "NC1HWC0_C04"},
    {13, "FRACTAL_Z_C04"},
    {14, "CHWN"},
    {15, "FRACTAL_DECONV_SP_STRIDE8_TRANS"},
    {16, "HWCN"},
    {17, "NC1KHKWHWC0"},
    {18, "BN_WEIGHT"},
    {19, "FILTER_HWCK"},
    {20, "HASHTABLE_LOOKUP_LOOKUPS"},
    {21, "HASHTABLE_LOOKUP_KEYS"},
    {22, "HASHTABLE_LOOKUP_VALUE"},
    {23, "HASHTABLE_LOOKUP_OUTPUT"},
    {24, "HASHTABLE_LOOKUP_HITS"},
    {25, "C1HWNCoC0"},
    {26, "MD"},
    {27, "NDHWC"},
    {28, "FRACTAL_ZZ"},
    {29, "FRACTAL_NZ"},
    {30, "NCDHW"},
    {31, "DHWCN"},
    {32, "NDC1HWC0"},
    {33, "FRACTAL_Z_3D"},
    {34, "CN"},
    {35, "NC"},
    {36, "DHWNC"},
    {37, "FRACTAL_Z_3D_TRANSPOSE"},
    {38, "FRACTAL_ZN_LSTM"},
    {39, "FRACTAL_Z_G"},
    {40, "RESERVED"},
    {41, "ALL"},
    {42, "NULL"},
    {43, "ND_RNN_BIAS"},
    {44, "FRACTAL_ZN_RNN"},
    {45, "YUV"},
    {46, "YUV_A"},
    {47, "NCL"},
    {48, "FRACTAL_Z_WINO"},
    {49, "C1HWC0"},
};

// Sign and magnitude, as the micro-scaling formats have it.
float signed_float4(std::uint8_t bits, const std::array<float, 8>& magnitudes) {
  const float magnitude = magnitudes[bits & 7U];
  return (bits & 8U) != 0 ? -magnitude : magnitude;
}

}  // namespace

const ElementType* element_type(std::uint32_t code) {
  return code < std::size(kTypes) ? &kTypes[code] : nullptr;
}

const ElementType* element_type(std::string_view name) {
  for (const ElementType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

std::optional<std::uint32_t> code_of_acl(std::uint32_t acl) {
  if (acl >= kCodeOfAcl.size()) return std::nullopt;
  return kCodeOfAcl[acl];
}

std::int8_t decode_integer(Storage storage, std::uint8_t bits) {
  switch (storage) {
    case Storage::kInt4:
      return static_cast<std::int8_t>((bits & 0xfU) >= 8 ? (bits & 0xfU) - 16 : bits & 0xfU);
    case Storage::kInt2:
      return static_cast<std::int8_t>((bits & 3U) >= 2 ? (bits & 3U) - 4 : bits & 3U);
    default:
      return static_cast<std::int8_t>(bits);
  }
}

float decode_float(Storage storage, std::uint8_t bits) {
  static constexpr std::array<float, 8> kE2M1 = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  static constexpr std::array<float, 8> kE1M2 = {0, 0.25F, 0.5F, 0.75F, 1, 1.25F, 1.5F, 1.75F};
  if (storage == Storage::kE2M1) return signed_float4(bits, kE2M1);
  if (storage == Storage::kE1M2) return signed_float4(bits, kE1M2);
  if (storage == Storage::kE3M2) return values_of(CodeFormat::kE3M2)[bits];
  if (storage == Storage::kE2M3) return values_of(CodeFormat::kE2M3)[bits];
  if (bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, static_cast<int>(bits) - 127);
}

std::string_view format_name(std::uint32_t format) {
  return format < std::size(kFormats) ? kFormats[format].name : std::string_view();
}

std::optional<std::uint32_t> parse_format(std::string_view name) {
  for (const FormatRow& row : kFormats) {
    if (row.name == name) return row.format;
  }
  return std::nullopt;
}

}  // namespace msprobe::ge
