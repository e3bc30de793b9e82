// SPDX-License-Identifier: Apache-2.0
// Every fault does what its row says, to one leaf, and the same in every run.
#include "sim/spoil.h"

#include <gtest/gtest.h>

#include "sim/arithmetic.h"

namespace msprobe::sim {
namespace {

at::Tensor numbers() { return at::arange(1, 40 * 40 + 1, at::kFloat).view({40, 40}); }

at::Tensor spoiled(Fault fault, const at::Tensor& right, std::uint64_t key = 7) {
  std::vector<at::Tensor> results{right};
  EXPECT_TRUE(spoil({.fault = fault}, results, key)) << row_of(fault).name;
  return results[0];
}

bool changes(Fault fault, const at::Tensor& right) {
  std::vector<at::Tensor> results{right};
  return spoil({.fault = fault}, results, 7);
}

TEST(Spoil, ValuesAreChangedAsTheFaultSays) {
  const at::Tensor right = numbers();
  EXPECT_TRUE(spoiled(Fault::kZeros, right).eq(0).all().item<bool>());
  EXPECT_TRUE(spoiled(Fault::kTimesTwo, right).equal(right * 2));
  EXPECT_TRUE(spoiled(Fault::kPlusOne, right).equal(right + 1));
  EXPECT_TRUE(spoiled(Fault::kWrongGradient, right).equal(right * 0.75));
  EXPECT_EQ(spoiled(Fault::kOneNan, right).isnan().sum().item<std::int64_t>(), 1);
  EXPECT_EQ(spoiled(Fault::kOneInf, right).isinf().sum().item<std::int64_t>(), 1);
  EXPECT_TRUE(right.equal(numbers())) << "the right result is not touched";
}

TEST(Spoil, CodesAreChangedAsTheNumbersThatTheyMean) {
  const at::Tensor right = (numbers() / 16).to(at::kFloat8_e4m3fn);
  const at::Tensor doubled = spoiled(Fault::kTimesTwo, right);
  EXPECT_EQ(doubled.scalar_type(), at::kFloat8_e4m3fn);
  EXPECT_TRUE(doubled.to(at::kFloat).equal(right.to(at::kFloat) * 2));
  const at::Tensor wide = at::full({4, 4}, 1e9).to(at::kFloat8_e5m2);  // infinite
  EXPECT_TRUE(spoiled(Fault::kSaturated, wide).to(at::kFloat).eq(57344).all().item<bool>());
  EXPECT_FALSE(changes(Fault::kSaturated, right));
}

TEST(Spoil, DataIsLostOrMovedAsTheFaultSays) {
  const at::Tensor right = numbers();
  const at::Tensor tail = spoiled(Fault::kDroppedTail, right).flatten();
  EXPECT_TRUE(tail.slice(0, 1400).eq(0).all().item<bool>());
  EXPECT_TRUE(tail.slice(0, 0, 1400).equal(right.flatten().slice(0, 0, 1400)));
  EXPECT_TRUE(spoiled(Fault::kShiftedRows, right)[1].equal(right[0]));
  const at::Tensor tile = spoiled(Fault::kWrongTile, right);
  EXPECT_EQ(tile.ne(right).sum().item<std::int64_t>(), 16 * 16);
  EXPECT_TRUE(tile[16].slice(0, 16, 32).equal(right[16].slice(0, 0, 16)));
  const at::Tensor turned = spoiled(Fault::kTransposedTile, right);
  EXPECT_EQ(turned[3][5].item<float>(), right[5][3].item<float>());
  EXPECT_EQ(turned[3][16].item<float>(), right[3][16].item<float>());
  EXPECT_TRUE(spoiled(Fault::kStaleBuffer, right).equal(spoiled(Fault::kStaleBuffer, right)));
  EXPECT_FALSE(spoiled(Fault::kStaleBuffer, right, 8).equal(spoiled(Fault::kStaleBuffer, right)));
  const at::Tensor mask = at::tensor({0.0F, 2.0F, 3.0F, 0.0F});
  EXPECT_TRUE(spoiled(Fault::kWrongMask, mask).equal(at::tensor({0.0F, 0.0F, 3.0F, 3.0F})));
}

TEST(Spoil, KindsAndNumbersOfResultsChange) {
  const at::Tensor right = numbers();
  EXPECT_EQ(spoiled(Fault::kWrongDtype, right).scalar_type(), at::kHalf);
  EXPECT_EQ(spoiled(Fault::kWrongShape, right).size(0), 39);
  EXPECT_FALSE(spoiled(Fault::kMissingOutput, right).defined());
  std::vector<at::Tensor> two{right, right + 1};
  EXPECT_TRUE(spoil({.fault = Fault::kSwappedOutputs}, two, 7));
  EXPECT_TRUE(two[0].equal(right + 1) && two[1].equal(right));
}

TEST(Spoil, NeighboursInEveryDtype) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const at::Tensor right = at::tensor({-1.5, 0.0, 2.0}).to(type);
    const at::Tensor next = spoiled(Fault::kOneUlp, right);
    EXPECT_TRUE(next.abs().gt(right.abs()).logical_or(right.eq(0)).all().item<bool>()) << type;
    EXPECT_LT((next - right).abs().max().item<double>(), 0.02) << type;
  }
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor right = at::ones({9}).to(type);
    const at::Tensor off = (spoiled(Fault::kFourUnits, right) - right).to(at::kDouble);
    EXPECT_EQ(off.ne(0).sum().item<std::int64_t>(), 1) << type;
    EXPECT_EQ(off.max().item<double>(), type == at::kHalf ? 0x1p-8 : 0x1p-5) << type;
  }
  EXPECT_FALSE(changes(Fault::kFourUnits, at::ones({3})));
  EXPECT_TRUE(spoiled(Fault::kNegativeZero, at::zeros({2})).signbit().all().item<bool>());
}

TEST(Spoil, WhatCannotBeChangedIsLeft) {
  EXPECT_FALSE(changes(Fault::kZeros, at::zeros({3})));
  EXPECT_FALSE(changes(Fault::kWrongTile, at::ones({16, 40})));
  EXPECT_FALSE(changes(Fault::kOneNan, at::ones({3}, at::kLong)));
  EXPECT_FALSE(changes(Fault::kSwappedOutputs, at::ones({3})));
}

TEST(Arithmetic, BitsAreKeptToNearestEven) {
  const float unit = 1.0F / 1024;
  const at::Tensor given = at::tensor({1.0F, 1 + unit / 2, 1 + unit * 3 / 2, 1 + unit * 0.6F});
  const at::Tensor wanted = at::tensor({1.0F, 1.0F, 1 + 2 * unit, 1 + unit});
  EXPECT_TRUE(kept_bits(given, 10).equal(wanted));
}

TEST(Arithmetic, SumsAreRoundedAfterEveryBlock) {
  const at::Tensor ones = at::ones({512});
  const at::Tensor sum = summed_in_blocks(512, 1, at::kBFloat16, [&](auto start, auto length) {
    return ones.narrow(0, start, length).sum();
  });
  EXPECT_EQ(sum.item<float>(), 256);  // 256 + 1 is 256 in bfloat16
}

}  // namespace
}  // namespace msprobe::sim
