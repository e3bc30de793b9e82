// SPDX-License-Identifier: Apache-2.0
#include "execute/npu/low_bits.h"

#include <bit>

#include "execute/npu/bounded.h"
#include "execute/npu/numbers_for_test.h"

namespace msprobe::execute::npu {
namespace {

at::Tensor values_of(const Numbers& values) { return at::tensor(values, at::kDouble); }

TEST(LowBits, RoundsToTheNearestNumberOfTheFormat) {
  const at::Tensor value = values_of({0.24, 0.25, 0.75, 1.25, 2.5, 5, 7, -0.6});
  expect_near(rounded_to(Number::kE2M1, value, RoundMode::kHalfEven),
              Numbers{0, 0, 1, 1, 2, 4, 6, -0.5}, 0);
  expect_near(rounded_to(Number::kE2M1, value, RoundMode::kFloor),
              Numbers{0, 0, 0.5, 1, 2, 4, 6, -1}, 0);
  expect_near(
      rounded_to(Number::kE4M3, values_of({17, 19, 1e4, 0.001, 0.0009}), RoundMode::kHalfEven),
      Numbers{16, 20, 448, 0.001953125, 0}, 0);
  expect_near(rounded_to(Number::kInt8, values_of({0.5, 1.5, -200, 126.5}), RoundMode::kHalfEven),
              Numbers{0, 2, -128, 126}, 0);
}

TEST(LowBits, PacksTheFirstNumberIntoTheLowestBits) {
  const at::Tensor four = values_of({1, -1, 7, -8, 0, 2, -3, 5});
  const at::Tensor word = packed(four, Packing::kInt4InInt32);
  EXPECT_EQ(word.item<std::int32_t>(), 0x5D2087F1);
  expect_near(unpacked(word, Packing::kInt4InInt32), four, 0);
  const at::Tensor half = values_of({0.5, -6, 1.5, 0});
  const at::Tensor bytes = packed(half, Packing::kE2M1InByte);
  EXPECT_EQ(bytes[0].item<std::int64_t>(), 0xF1);
  expect_near(unpacked(bytes, Packing::kE2M1InByte), half, 0);
}

TEST(LowBits, ScalesOfWordsHave19Bits) {
  const float scale = 0.1F;
  const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(scale));
  const std::int64_t word = bits | (std::int64_t{1} << 46) | (std::int64_t{0x1FF & -3} << 37);
  const WordScale found = scale_of_words(at::tensor({word}, at::kLong));
  expect_near(found.scale, scale_of_19_bits(at::tensor({scale})), 0);
  EXPECT_LT(found.scale.item<double>(), 0.1);
  EXPECT_GT(found.scale.item<double>(), 0.1 * (1 - 1.0 / 1024));
  EXPECT_EQ(found.offset.item<double>(), -3);
}

// 1 + 2^-11 + 2^-30 lies above the middle of two float16 numbers; float32 has no room for the rest.
TEST(RoundedOnce, DoesNotRoundTwice) {
  const at::Tensor value = values_of({1 + 1.0 / 2048 + 1.0 / (1 << 30), 1 + 1.0 / 2048, -70000});
  expect_near(rounded_once(value, at::kHalf).to(at::kDouble).narrow(0, 0, 2),
              Numbers{1 + 1.0 / 1024, 1}, 0);
  EXPECT_TRUE(rounded_once(value, at::kHalf)[2].isinf().item<bool>());
  EXPECT_EQ(value.to(at::kHalf)[0].item<double>(), 1);  // PyTorch's own cast
}

TEST(Bounded, ASumOfProductsOfWholeNumbersIsExact) {
  const Bounded codes = exact(at::full({2, 300}, 127), true);
  const Bounded other = exact(at::full({300, 2}, -128), true);
  EXPECT_EQ(product(codes, other, true).slack.max().item<double>(), 0);
  EXPECT_GT(product(codes, other, false).slack.max().item<double>(), 0);
}

TEST(Bounded, TheSlackHoldsWhatFloat32Does) {
  const at::Tensor x = random({40, 65}, 1, -4, 4).to(at::kFloat);
  const at::Tensor gate = random({40, 65}, 2, -4, 4).to(at::kFloat);
  const Bounded y = silu(exact(x, true)) * exact(gate, true) / exact(x.abs() + 1, true);
  const at::Tensor device = (at::silu(x) * gate / (x.abs() + 1)).to(at::kDouble);
  EXPECT_TRUE((device - y.value).abs().le(y.slack).all().item<bool>());
  EXPECT_LT((y.slack / (y.value.abs() + 1e-3)).max().item<double>(), 1e-5);
}

}  // namespace
}  // namespace msprobe::execute::npu
