// SPDX-License-Identifier: Apache-2.0
// The checksums are of what ml_dtypes 0.6 decodes, and of what PyTorch 2.13 (of 4 and 6 bits:
// ml_dtypes) makes of the same numbers. NaN counts as NaN, whatever its code is.
#include "core/code_formats.h"

#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/crc32.h"

namespace msprobe {
namespace {

std::vector<std::uint32_t> patterns() {
  std::vector<std::uint32_t> all(1U << 16);
  std::uint32_t state = 1;
  for (std::uint32_t& pattern : all) pattern = state = state * 1664525U + 1013904223U;
  return all;
}

// Any float32.
std::vector<float> any_numbers() {
  std::vector<float> numbers;
  for (const std::uint32_t pattern : patterns()) numbers.push_back(std::bit_cast<float>(pattern));
  return numbers;
}

// 12 bits at 48 exponents: ties of every format among them.
std::vector<float> coarse_numbers() {
  std::vector<float> numbers;
  for (const std::uint32_t pattern : patterns()) {
    const auto mantissa = static_cast<float>(static_cast<int>(pattern & 0xfffU) - 2048);
    numbers.push_back(std::ldexp(mantissa, static_cast<int>(pattern >> 12) % 48 - 34));
  }
  return numbers;
}

std::uint32_t checksum_of_codes(CodeFormat format, const std::vector<float>& numbers) {
  std::vector<std::uint8_t> codes;
  for (const float number : numbers) {
    const std::uint8_t code = encode(format, number);
    codes.push_back(std::isnan(values_of(format)[code]) ? 0xff : code);
  }
  return crc32(0, std::as_bytes(std::span(codes)));
}

TEST(CodeFormats, EveryCodeMeansWhatMlDtypesSays) {
  const std::pair<CodeFormat, std::uint32_t> formats[] = {
      {CodeFormat::kE4M3Fn, 0x2fdee9ac},   {CodeFormat::kE5M2, 0x3d83fd11},
      {CodeFormat::kE4M3Fnuz, 0xf2dfa052}, {CodeFormat::kE5M2Fnuz, 0x09c70b84},
      {CodeFormat::kE8M0, 0x719979ba},     {CodeFormat::kE2M1, 0x866770b6},
      {CodeFormat::kE3M2, 0xce26bb00},     {CodeFormat::kE2M3, 0x50f19834}};
  for (const auto& [format, checksum] : formats) {
    std::vector<std::uint32_t> bits;
    for (int code = 0; code < 1 << msprobe::bits(format); ++code) {
      const float value = values_of(format)[static_cast<std::size_t>(code)];
      bits.push_back(std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value));
    }
    EXPECT_EQ(crc32(0, std::as_bytes(std::span(bits))), checksum) << name(format);
  }
}

TEST(CodeFormats, EveryNumberGetsTheCodePyTorchGivesIt) {
  struct Row {
    CodeFormat format;
    std::uint32_t any, coarse;
  };
  const Row rows[] = {{CodeFormat::kE4M3Fn, 0x0b0f8ae4, 0xc7dedcd0},
                      {CodeFormat::kE5M2, 0xc3363a8e, 0xf6a62baa},
                      {CodeFormat::kE4M3Fnuz, 0x6f56828e, 0x1dc97d4b},
                      {CodeFormat::kE5M2Fnuz, 0xb42d853e, 0xe9023cd0},
                      {CodeFormat::kE8M0, 0x20d25ca4, 0xc3b99b88}};
  const auto any = any_numbers();
  const auto coarse = coarse_numbers();
  for (const Row& row : rows) {
    EXPECT_EQ(checksum_of_codes(row.format, any), row.any) << name(row.format);
    EXPECT_EQ(checksum_of_codes(row.format, coarse), row.coarse) << name(row.format);
  }
  EXPECT_EQ(checksum_of_codes(CodeFormat::kE2M1, coarse), 0x8a027ecbU);
  EXPECT_EQ(checksum_of_codes(CodeFormat::kE3M2, coarse), 0x465b82bfU);
  EXPECT_EQ(checksum_of_codes(CodeFormat::kE2M3, coarse), 0x1d52de64U);
}

TEST(CodeFormats, EveryCodeComesBack) {
  for (std::size_t i = 0; i < kCodeFormats; ++i) {
    const auto format = static_cast<CodeFormat>(i);
    for (int code = 0; code < 1 << bits(format); ++code) {
      const double value = values_of(format)[static_cast<std::size_t>(code)];
      if (std::isnan(value)) continue;
      EXPECT_EQ(encode(format, value), code) << name(format);
    }
  }
}

TEST(CodeFormats, HiFloat8RoundsTiesAwayFromZero) {
  const auto rounded = [](double value) {
    return values_of(CodeFormat::kHiFloat8)[encode(CodeFormat::kHiFloat8, value)];
  };
  EXPECT_EQ(rounded(1.0625), 1.125F);
  EXPECT_EQ(rounded(-4.25), -4.5F);
  EXPECT_EQ(rounded(40959), 32768.0F);
  EXPECT_TRUE(std::isinf(rounded(40960)));
  EXPECT_EQ(rounded(0x1p-23), 0x1p-22F);
  EXPECT_EQ(rounded(0x1.fp-24), 0.0F);
  EXPECT_EQ(encode(CodeFormat::kHiFloat8, 1e9, Beyond::kSaturates), 0x6e);
}

TEST(CodeFormats, BeyondTheRangeItIsAsAskedFor) {
  EXPECT_EQ(encode(CodeFormat::kE4M3Fn, 500), 0x7e);
  EXPECT_EQ(encode(CodeFormat::kE4M3Fn, -500, Beyond::kNotFinite), 0xff);
  EXPECT_EQ(encode(CodeFormat::kE5M2, INFINITY), 0x7c);
  EXPECT_EQ(encode(CodeFormat::kE5M2, -INFINITY, Beyond::kSaturates), 0xfb);
  EXPECT_EQ(encode(CodeFormat::kE4M3Fnuz, -1e-9), 0x00);
}

TEST(CodeFormats, NeighboursAreTheNumbersAround) {
  const auto near = [](double value) {
    const CodeNeighbours found = neighbours(CodeFormat::kE2M1, value);
    return std::pair(found.lower, found.upper);
  };
  EXPECT_EQ(near(2.5), std::pair(2.0, 3.0));
  EXPECT_EQ(near(-2.5), std::pair(-3.0, -2.0));
  EXPECT_EQ(near(3), std::pair(3.0, 3.0));
  EXPECT_EQ(near(99), std::pair(6.0, 6.0));
  EXPECT_EQ(near(-0.25), std::pair(-0.5, -0.0));
}

}  // namespace
}  // namespace msprobe
