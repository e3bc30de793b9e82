// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/low_bits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "libtorch/dtypes.h"

namespace msprobe::execute::npu {
namespace {

struct NumberRow {
  std::int64_t torch_npu;
  std::int64_t other;  // a second number for the same
  Number number;
};
constexpr NumberRow kNumbers[] = {
    {1, 12, Number::kInt8},        {13, 4, Number::kUInt8},   {3, 14, Number::kInt32},
    {5, 5, Number::kFloat16},      {6, 6, Number::kFloat32},  {15, 15, Number::kBFloat16},
    {16, 285, Number::kInt4},      {23, 291, Number::kE5M2},  {24, 292, Number::kE4M3},
    {290, 290, Number::kHiFloat8}, {293, 293, Number::kE8M0}, {296, 296, Number::kE2M1},
    {297, 297, Number::kE1M2},
};

// A binary format: `fraction` bits behind the point, the smallest exponent of a normal number.
struct Format {
  Number number;
  int fraction;
  int lowest_exponent;
  double largest;
};
constexpr Format kFormats[] = {{Number::kE4M3, 3, -6, 448},
                               {Number::kE5M2, 2, -14, 57344},
                               {Number::kE2M1, 1, 0, 6},
                               {Number::kE1M2, 2, 0, 1.75}};

const Format* format_of(Number number) {
  const auto* found = std::ranges::find(kFormats, number, &Format::number);
  return found == std::end(kFormats) ? nullptr : found;
}

at::Tensor whole(const at::Tensor& value, RoundMode mode) {
  switch (mode) {
    case RoundMode::kHalfEven:
      return value.round();
    case RoundMode::kHalfAway:
      return value.sign() * (value.abs() + 0.5).floor();
    case RoundMode::kFloor:
      return value.floor();
    case RoundMode::kCeil:
      return value.ceil();
    default:
      return value.trunc();
  }
}

// The sizes of the codes 0 to 7 of a 4-bit format.
const std::vector<double>& sizes_of(Packing packing) {
  static const std::vector<double> e2m1 = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  static const std::vector<double> e1m2 = {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75};
  return packing == Packing::kE2M1InByte ? e2m1 : e1m2;
}

bool is_fp4(Packing packing) {
  return packing == Packing::kE2M1InByte || packing == Packing::kE1M2InByte;
}

// Codes of four bits, in int64.
at::Tensor nibbles(const at::Tensor& values, Packing packing) {
  if (!is_fp4(packing)) return values.to(at::kLong).bitwise_and(15);
  const at::Tensor sizes = at::tensor(sizes_of(packing), values.options().dtype(at::kDouble));
  const at::Tensor size = at::bucketize(values.abs().to(at::kDouble).contiguous(), sizes);
  return size.bitwise_or(at::signbit(values).to(at::kLong) * 8);
}

at::Tensor numbers_of(const at::Tensor& nibbles, Packing packing) {
  if (!is_fp4(packing)) return at::where(nibbles.ge(8), nibbles - 16, nibbles).to(at::kDouble);
  const at::Tensor sizes = at::tensor(sizes_of(packing), nibbles.options().dtype(at::kDouble));
  const at::Tensor size = sizes.index_select(0, nibbles.bitwise_and(7).flatten()).view_as(nibbles);
  return at::where(nibbles.ge(8), -size, size);
}

std::int64_t in_a_word(Packing packing) { return packing == Packing::kInt4InInt32 ? 8 : 2; }

}  // namespace

std::optional<Number> number_of(std::int64_t torch_npu_dtype) {
  for (const NumberRow& row : kNumbers) {
    if (row.torch_npu == torch_npu_dtype || row.other == torch_npu_dtype) return row.number;
  }
  return std::nullopt;
}

std::optional<Number> number_of(at::ScalarType type) {
  switch (type) {
    case at::kChar:
    case at::kQInt8:
      return Number::kInt8;
    case at::kByte:
    case at::kQUInt8:
      return Number::kUInt8;
    case at::kInt:
    case at::kQInt32:
      return Number::kInt32;
    case at::ScalarType::QUInt4x2:
      return Number::kInt4;
    case at::kHalf:
      return Number::kFloat16;
    case at::kBFloat16:
      return Number::kBFloat16;
    case at::kFloat:
      return Number::kFloat32;
    default:
      if (type == libtorch::scalar_type(DType::kFloat8E4M3)) return Number::kE4M3;
      if (type == libtorch::scalar_type(DType::kFloat8E5M2)) return Number::kE5M2;
      return std::nullopt;
  }
}

at::ScalarType scalar_type_of(Number number) {
  const auto known = [](DType dtype) {
    const auto type = libtorch::scalar_type(dtype);
    TORCH_CHECK(type, "this PyTorch has no 8-bit floating-point types");
    return *type;
  };
  switch (number) {
    case Number::kInt8:
      return at::kChar;
    case Number::kInt32:
    case Number::kInt4:
      return at::kInt;
    case Number::kE4M3:
      return known(DType::kFloat8E4M3);
    case Number::kE5M2:
      return known(DType::kFloat8E5M2);
    case Number::kFloat16:
      return at::kHalf;
    case Number::kBFloat16:
      return at::kBFloat16;
    case Number::kFloat32:
      return at::kFloat;
    default:
      return at::kByte;
  }
}

double largest_of(Number number) {
  if (const Format* format = format_of(number)) return format->largest;
  if (number == Number::kInt4) return 7;
  if (number == Number::kHiFloat8) return 32768;
  TORCH_CHECK(number == Number::kInt8, "a quantisation to this dtype has no benchmark");
  return 127;
}

bool is_float8_or_4(Number number) { return format_of(number) != nullptr; }

at::Tensor rounded_to(Number number, const at::Tensor& value, RoundMode mode) {
  const Format* format = format_of(number);
  if (format == nullptr) {
    const double low = number == Number::kInt4    ? -8
                       : number == Number::kUInt8 ? 0
                       : number == Number::kInt8  ? -128
                                                  : std::numeric_limits<std::int32_t>::min();
    const double high = number == Number::kInt4    ? 7
                        : number == Number::kUInt8 ? 255
                        : number == Number::kInt8  ? 127
                                                   : std::numeric_limits<std::int32_t>::max();
    return whole(value.nan_to_num(0), mode).clamp(low, high);
  }
  const at::Tensor exponent = std::get<1>(at::frexp(value)) - 1;
  const at::Tensor step =
      at::exp2((exponent.clamp_min(format->lowest_exponent) - format->fraction).to(at::kDouble));
  return (whole(value / step, mode) * step).clamp(-format->largest, format->largest);
}

at::Tensor packed(const at::Tensor& values, Packing packing) {
  const std::int64_t each = in_a_word(packing);
  TORCH_CHECK(values.size(-1) % each == 0, "a last dimension of ", values.size(-1),
              " cannot be packed by ", each);
  const at::Tensor parts = nibbles(values, packing).unflatten(-1, {-1, each});
  const at::Tensor shifts = at::arange(each, parts.options()) * 4;
  const at::Tensor word = parts.bitwise_left_shift(shifts).sum(-1);
  return packing == Packing::kInt4InInt32 ? word.to(at::kInt) : word.to(at::kByte);
}

at::Tensor unpacked(const at::Tensor& codes, Packing packing) {
  if (packing == Packing::kPlain) return codes.to(at::kDouble);
  const std::int64_t each = in_a_word(packing);
  const at::Tensor word = codes.to(at::kLong).unsqueeze(-1);
  const at::Tensor shifts = at::arange(each, word.options()) * 4;
  const at::Tensor parts = word.bitwise_right_shift(shifts).bitwise_and(15);
  return numbers_of(parts, packing).flatten(-2);
}

at::Tensor powers_of_two(const at::Tensor& scales) {
  const at::Tensor codes = scales.scalar_type() == at::kByte
                               ? scales.to(at::kDouble)
                               : scales.contiguous().view(at::kByte).to(at::kDouble);
  return at::exp2(codes - 127).masked_fill(codes.eq(255), std::numeric_limits<double>::quiet_NaN());
}

WordScale scale_of_words(const at::Tensor& words) {
  const at::Tensor bits = words.to(at::kLong);
  const at::Tensor low = bits.bitwise_and(std::int64_t{0xFFFFFFFF}).to(at::kInt);
  const at::Tensor cut = low.bitwise_and(~std::int64_t{0x1FFF});
  const at::Tensor field =
      bits.bitwise_right_shift(at::scalar_tensor(37, bits.options())).bitwise_and(511);
  return {cut.view(at::kFloat).to(at::kDouble),
          at::where(field.ge(256), field - 512, field).to(at::kDouble)};
}

at::Tensor scale_of_19_bits(const at::Tensor& scale) {
  const at::Tensor bits = scale.to(at::kFloat).contiguous().view(at::kInt);
  return bits.bitwise_and(~std::int64_t{0x1FFF}).view(at::kFloat).to(at::kDouble);
}

}  // namespace msprobe::execute::npu
