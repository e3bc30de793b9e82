// SPDX-License-Identifier: Apache-2.0
#include "core/modulus.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace msprobe {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

TEST(Modulus, OfSpecialValues) {
  EXPECT_EQ(modulus(0, -0.0), 0);
  EXPECT_EQ(modulus(-3, 4), 5);
  EXPECT_EQ(modulus(0, -7), 7);
  EXPECT_EQ(modulus(kNotANumber, -kInfinite), kInfinite);
  EXPECT_TRUE(std::isnan(modulus(kNotANumber, 1)));
  EXPECT_EQ(modulus(0x3p1020, 0x4p1020), 0x5p1020);
  EXPECT_EQ(modulus(0x3p-1074, 0x4p-1074), 0x5p-1074);
  EXPECT_EQ(modulus(1, 0x1p-60), 1);
  EXPECT_EQ(modulus(0x1.fp1023, 0x1.fp1023), kInfinite);
}

// Its neighbours lie on either side of the exact value.
TEST(Modulus, IsCloseToTheExactValue) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const auto number = [&] {
      const double fraction = static_cast<double>(random() >> 11) * 0x1p-53 + 1;
      return std::ldexp(fraction, static_cast<int>(random() % 61));
    };
    const double x = number(), y = number();
    const double ours = modulus(x, y);
    // Both squares and this one to 106 bits: the sign says on which side of the exact value it is.
    const auto too_large = [&](double value) {
      const double xx = x * x, yy = y * y, vv = value * value;
      const double rest = std::fma(x, x, -xx) + std::fma(y, y, -yy) - std::fma(value, value, -vv);
      const double high = xx > yy ? (vv - xx) - yy : (vv - yy) - xx;
      return high > rest;
    };
    EXPECT_TRUE(too_large(std::nextafter(ours, kInfinite))) << x << " " << y;
    EXPECT_FALSE(too_large(std::nextafter(ours, 0))) << x << " " << y;
  }
}

// The digits, not only the value: the same on every processor.
TEST(Modulus, HasTheSameDigitsEverywhere) {
  std::mt19937_64 random(2);
  std::uint64_t digits = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double x = static_cast<double>(random() >> 11), y = static_cast<double>(random() >> 11);
    digits = digits * 31 + std::bit_cast<std::uint64_t>(modulus(x, y));
  }
  EXPECT_EQ(digits, 12623636532385371670U);
}

}  // namespace
}  // namespace msprobe
