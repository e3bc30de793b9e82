// SPDX-License-Identifier: Apache-2.0
#include "strict/float_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "libtorch/dtypes.h"

namespace msprobe::strict {
namespace {

struct FloatRow {
  std::string_view name;  // as c10::toString gives it, so that older LibTorch builds too
  int mantissa_bits;
  int least_exponent;  // of a normal number
  double largest;
};
constexpr FloatRow kFloatRows[] = {
    {"Half", 10, -14, 65504.0},
    {"ComplexHalf", 10, -14, 65504.0},
    {"BFloat16", 7, -126, 3.3895313892515355e38},
    {"Float", 23, -126, 3.4028234663852886e38},
    {"ComplexFloat", 23, -126, 3.4028234663852886e38},
    {"Double", 52, -1022, 1.7976931348623157e308},
    {"ComplexDouble", 52, -1022, 1.7976931348623157e308},
    {"Float8_e4m3fn", 3, -6, 448.0},
    {"Float8_e5m2", 2, -14, 57344.0},
};
constexpr int kFloatBits = 23;

}  // namespace

std::optional<FloatType> float_type(at::ScalarType type) {
  const auto row =
      std::ranges::find(kFloatRows, std::string_view(c10::toString(type)), &FloatRow::name);
  if (row == std::end(kFloatRows)) return std::nullopt;
  const double eps = std::ldexp(1.0, -row->mantissa_bits);
  return FloatType{eps, std::ldexp(1.0, row->least_exponent - row->mantissa_bits),
                   std::ldexp(1.0, row->least_exponent), row->largest,
                   std::min(eps, std::ldexp(1.0, -kFloatBits))};
}

double unit_of(double size, const FloatType& type) {
  if (!(size >= type.least_normal)) return type.smallest;
  if (!(size < type.largest)) size = type.largest;
  constexpr std::uint64_t kExponent = 0x7ff0000000000000;
  return type.eps * std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) & kExponent);
}

at::Tensor real_parts(const at::Tensor& tensor) {
  const at::Tensor plain = libtorch::plain(tensor);
  return (plain.is_complex() ? at::view_as_real(plain) : plain).to(at::kDouble);
}

at::Tensor flat(const at::Tensor& tensor) { return real_parts(tensor).flatten(); }

double root_mean_square(const at::Tensor& values) {
  return std::sqrt(values.square().nan_to_num(0, 0, 0).mean().item<double>());
}

}  // namespace msprobe::strict
