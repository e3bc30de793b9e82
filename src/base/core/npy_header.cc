// SPDX-License-Identifier: Apache-2.0
#include "core/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace msprobe {
namespace {

std::string_view npy_description(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kUInt8:
    case DType::kFloat4E2M1x2:
      return "|u1";
    case DType::kInt8:
      return "|i1";
    case DType::kUInt16:
      return "<u2";
    case DType::kUInt32:
      return "<u4";
    case DType::kUInt64:
      return "<u8";
    case DType::kInt16:
      return "<i2";
    case DType::kInt32:
      return "<i4";
    case DType::kInt64:
      return "<i8";
    case DType::kFloat16:
      return "<f2";
    case DType::kFloat64:
      return "<f8";
    case DType::kComplex64:
      return "<c8";
    case DType::kComplex128:
      return "<c16";
    default:
      return "<f4";
  }
}

}  // namespace

DType numpy_dtype(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
    case DType::kHiFloat8:
    case DType::kFloat8E4M3Fnuz:
    case DType::kFloat8E5M2Fnuz:
    case DType::kFloat8E8M0:
      return DType::kFloat32;
    case DType::kFloat4E2M1x2:
      return DType::kUInt8;  // its bytes
    case DType::kComplex32:
      return DType::kComplex64;
    default:
      return dtype;
  }
}

std::string npy_header(DType dtype, std::span<const std::int64_t> shape) {
  constexpr std::size_t kPrefix = 10;
  constexpr std::size_t kAlignment = 64;
  std::string extents = fmt::format("{}", fmt::join(shape, ", "));
  if (shape.size() == 1) extents += ',';
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 npy_description(dtype), extents);
  const std::size_t whole = (kPrefix + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.append(whole - kPrefix - text.size() - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(text.size() & 0xff));
  header.push_back(static_cast<char>(text.size() >> 8));
  return header + text;
}

}  // namespace msprobe
