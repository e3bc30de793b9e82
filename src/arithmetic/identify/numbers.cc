// SPDX-License-Identifier: Apache-2.0
#include "identify/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/float_formats.h"

namespace msprobe::identify {
namespace {

template <class T>
T element(const Numbers& numbers, std::size_t at) {
  T value;
  std::memcpy(&value, numbers.bytes.data() + at * sizeof value, sizeof value);
  return value;
}

template <class T>
void append(Numbers& numbers, T value) {
  numbers.bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_number(Numbers& numbers, double value) {
  switch (numbers.dtype) {
    case DType::kFloat64:
      return append(numbers, value);
    case DType::kFloat32:
      return append(numbers, static_cast<float>(value));
    case DType::kFloat16:
      return append(numbers, double_to_float16(value));
    case DType::kBFloat16:
      return append(numbers, double_to_bfloat16(value));
    case DType::kInt64:
      return append(numbers, static_cast<std::int64_t>(value));
    case DType::kInt32:
      return append(numbers, static_cast<std::int32_t>(value));
    case DType::kInt16:
      return append(numbers, static_cast<std::int16_t>(value));
    case DType::kInt8:
      return append(numbers, static_cast<std::int8_t>(value));
    default:
      return append(numbers, static_cast<std::uint8_t>(value));
  }
}

double number_at(const Numbers& numbers, std::size_t at) {
  switch (numbers.dtype) {
    case DType::kFloat64:
      return element<double>(numbers, at);
    case DType::kFloat32:
      return element<float>(numbers, at);
    case DType::kFloat16:
    case DType::kBFloat16:
      return from_bits(numbers.dtype, element<std::uint16_t>(numbers, at));
    case DType::kInt64:
      return static_cast<double>(element<std::int64_t>(numbers, at));
    case DType::kInt32:
      return element<std::int32_t>(numbers, at);
    case DType::kInt16:
      return element<std::int16_t>(numbers, at);
    case DType::kInt8:
      return element<std::int8_t>(numbers, at);
    case DType::kUInt8:
    case DType::kBool:
      return element<std::uint8_t>(numbers, at);
    case DType::kFloat8E4M3:
      return float8_e4m3fn_to_float(element<std::uint8_t>(numbers, at));
    case DType::kFloat8E5M2:
      return float8_e5m2_to_float(element<std::uint8_t>(numbers, at));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace

Numbers make_numbers(DType dtype, Shape shape, std::span<const double> values) {
  Numbers numbers{dtype, std::move(shape), {}};
  numbers.bytes.reserve(values.size() * size_bytes(dtype));
  for (const double value : values) append_number(numbers, value);
  return numbers;
}

std::vector<double> values_of(const Numbers& numbers) {
  std::vector<double> values;
  const std::size_t count = numbers.bytes.size() / size_bytes(numbers.dtype);
  values.reserve(count);
  for (std::size_t at = 0; at < count; ++at) values.push_back(number_at(numbers, at));
  return values;
}

double from_bits(DType dtype, std::uint16_t bits) {
  return dtype == DType::kFloat16 ? float16_to_float(bits) : bfloat16_to_float(bits);
}

FloatParts format_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {10, -14, 65504};
    case DType::kBFloat16:
      return {7, -126, 0x1.fep127};
    case DType::kFloat8E4M3:
      return {3, -6, 448};
    case DType::kFloat8E5M2:
      return {2, -14, 57344};
    case DType::kFloat64:
      return {52, -1022, std::numeric_limits<double>::max()};
    default:
      return {23, -126, static_cast<double>(std::numeric_limits<float>::max())};
  }
}

double unit_at(DType dtype, double value) {
  const FloatParts format = format_of(dtype);
  const int exponent = value == 0 ? format.least_exponent : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, format.least_exponent) - format.fraction_bits);
}

}  // namespace msprobe::identify
