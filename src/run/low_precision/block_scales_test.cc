// SPDX-License-Identifier: Apache-2.0
#include "low_precision/block_scales.h"

#include <gtest/gtest.h>

#include "low_precision/codes.h"

namespace msprobe::low_precision {
namespace {

TEST(Codes, PackedNumbersHaveTheFirstInTheLowHalf) {
  const at::Tensor numbers = at::tensor({0.5, -6.0, 1.5, 2.0}, at::kDouble).view({1, 4});
  const at::Tensor codes = codes_of(CodeFormat::kE2M1, numbers);
  const at::Tensor bytes = packed(codes);
  EXPECT_EQ(bytes[0][0].item<int>(), 0xf1);
  EXPECT_TRUE(at::equal(unpacked(bytes), codes));
  EXPECT_TRUE(at::equal(numbers_of(CodeFormat::kE2M1, unpacked(bytes)), numbers));
  // The second factor of a product is packed along its rows.
  EXPECT_TRUE(at::equal(unpacked(bytes.t(), 0), codes.t()));
}

TEST(BlockScales, ATileLiesAsItsFormulaSays) {
  const at::Tensor grid = at::arange(200 * 6, at::kDouble).view({200, 6});
  const at::Tensor flat = swizzled(grid);
  ASSERT_EQ(flat.numel(), swizzled_size(200, 6));
  for (const auto& [r, c] : {std::pair{0, 0}, {1, 0}, {33, 2}, {127, 3}, {128, 4}, {199, 5}}) {
    const int offset = ((r / 128) * 2 + c / 4) * 512 + (r % 32) * 16 + ((r % 128) / 32) * 4 + c % 4;
    EXPECT_EQ(flat[offset].item<double>(), grid[r][c].item<double>()) << r << ' ' << c;
  }
  EXPECT_TRUE(at::equal(unswizzled(flat, 200, 6), grid));
}

TEST(BlockScales, EveryLayoutGivesTheSameGrid) {
  const FactorShape shape{.rows = 200, .terms = 700};  // 6 blocks of 128, 2 squares of rows
  const at::Tensor grid = at::arange(1200, at::kDouble).view({200, 6});
  for (const bool first : {true, false}) {
    for (const bool right : {true, false}) {
      const at::Tensor given = first && right ? grid.t() : grid;
      EXPECT_TRUE(
          at::equal(scale_grid(given, Recipe::k1x128, Swizzle::kNone, shape, first, right), grid));
    }
  }
  const at::Tensor squares = at::arange(12, at::kDouble).view({2, 6});
  const at::Tensor wide = squares.repeat_interleave(128, 0).narrow(0, 0, 200);
  const auto read = [&](const at::Tensor& given, bool first, bool right) {
    return scale_grid(given, Recipe::k128x128, Swizzle::kNone, shape, first, right);
  };
  EXPECT_TRUE(at::equal(read(squares, true, false), wide));
  EXPECT_TRUE(at::equal(read(squares.t(), true, true), wide));
  const at::Tensor padded = at::cat({squares.t(), at::full({2, 2}, 77.0, at::kDouble)});
  EXPECT_TRUE(at::equal(read(padded, false, false), wide));
  EXPECT_TRUE(at::equal(read(padded, false, true), wide));
}

TEST(BlockScales, BytesArePowersOfTwoForBlocksOf32) {
  const at::Tensor bytes = at::tensor({126, 127, 128, 0}, at::kByte).view({2, 2});
  const at::Tensor grid =
      scale_grid(bytes, Recipe::k1x32, Swizzle::kNone, {.rows = 2, .terms = 64}, false, false);
  EXPECT_TRUE(at::equal(grid, at::tensor({0.5, 1.0, 2.0, 0x1p-127}, at::kDouble).view({2, 2})));
  const at::Tensor elements = for_elements(grid, 32, {.rows = 2, .terms = 64});
  EXPECT_EQ(elements[0][31].item<double>(), 0.5);
  EXPECT_EQ(elements[0][32].item<double>(), 1.0);
}

}  // namespace
}  // namespace msprobe::low_precision
