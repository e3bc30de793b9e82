// SPDX-License-Identifier: Apache-2.0
#include "core/cast.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/float_formats.h"

namespace msprobe {
namespace {

template <class T>
Tensor tensor_of(DType dtype, const std::vector<T>& values) {
  auto owner = std::make_shared<std::vector<T>>(values);
  const auto bytes = std::as_bytes(std::span<const T>(*owner));
  return {dtype, {static_cast<std::int64_t>(values.size())}, owner, bytes};
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

TEST(Cast, FloatsHoldingNarrowerValuesComeBackExactly) {
  const auto wide = tensor_of<float>(DType::kFloat32, {1.0F, -2.5F, INFINITY, 0x1p-133F, -0.0F});
  const Tensor narrow = cast(wide, DType::kBFloat16).value();
  EXPECT_EQ(narrow.dtype, DType::kBFloat16);
  EXPECT_EQ(values_of<float>(cast(narrow, DType::kFloat32).value()), values_of<float>(wide));
  EXPECT_TRUE(std::signbit(values_of<float>(cast(narrow, DType::kFloat32).value())[4]));
}

TEST(Cast, IntegersMustFit) {
  EXPECT_EQ(values_of<std::uint8_t>(
                cast(tensor_of<std::int64_t>(DType::kInt64, {0, 255}), DType::kUInt8).value()),
            (std::vector<std::uint8_t>{0, 255}));
  EXPECT_FALSE(cast(tensor_of<std::int64_t>(DType::kInt64, {0, 256}), DType::kUInt8));
  EXPECT_FALSE(cast(tensor_of<double>(DType::kFloat64, {0.5}), DType::kInt32));
  EXPECT_FALSE(cast(tensor_of<double>(DType::kFloat64, {NAN}), DType::kInt64));
  EXPECT_FALSE(cast(tensor_of<double>(DType::kFloat64, {0x1p63}), DType::kInt64));
  EXPECT_FALSE(cast(tensor_of<float>(DType::kFloat32, {2.0F}), DType::kBool));
  EXPECT_TRUE(cast(tensor_of<float>(DType::kFloat32, {0.0F, 1.0F}), DType::kBool));
}

TEST(Cast, EightBitFormatsTakeTheNearestCode) {
  for (const DType dtype : {DType::kFloat8E4M3, DType::kFloat8E5M2, DType::kHiFloat8}) {
    std::vector<std::uint8_t> codes(256);
    for (std::size_t i = 0; i < 256; ++i) codes[i] = static_cast<std::uint8_t>(i);
    const auto wide = values_of<float>(cast(tensor_of(dtype, codes), DType::kFloat32).value());
    const auto back =
        values_of<std::uint8_t>(cast(tensor_of(DType::kFloat32, wide), dtype).value());
    for (std::size_t i = 0; i < 256; ++i) {
      if (std::isnan(wide[i])) continue;
      EXPECT_EQ(back[i], codes[i]) << text(dtype) << ' ' << i;
    }
  }
  const auto e4m3 =
      cast(tensor_of<float>(DType::kFloat32, {1.06F, 1000.0F}), DType::kFloat8E4M3).value();
  EXPECT_EQ(float8_e4m3fn_to_float(values_of<std::uint8_t>(e4m3)[0]), 1.0F);
  EXPECT_EQ(float8_e4m3fn_to_float(values_of<std::uint8_t>(e4m3)[1]), 448.0F);
}

TEST(Cast, ComplexOnlyToComplex) {
  const auto wide = tensor_of<double>(DType::kComplex128, {1.5, -2.0});
  EXPECT_EQ(values_of<float>(cast(wide, DType::kComplex64).value()),
            (std::vector<float>{1.5F, -2.0F}));
  EXPECT_FALSE(cast(wide, DType::kFloat64));
}

}  // namespace
}  // namespace msprobe
