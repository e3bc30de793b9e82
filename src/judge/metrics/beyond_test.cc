// SPDX-License-Identifier: Apache-2.0
#include "metrics/beyond.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace msprobe::metrics {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Tolerance kTolerance{.relative = 1e-3, .absolute = 1e-6, .small_value = 1e-3};

template <class T>
struct Values {
  DType dtype;
  std::vector<T> values;
  Shape shape = {static_cast<std::int64_t>(values.size())};

  TensorView view() const { return {dtype, shape, std::as_bytes(std::span(values))}; }
};

Values<float> floats(std::vector<float> values) { return {DType::kFloat32, std::move(values)}; }
Values<std::int64_t> longs(std::vector<std::int64_t> values) {
  return {DType::kInt64, std::move(values)};
}

TEST(FindBeyond, NothingIsBeyondBetweenEqualTensors) {
  const auto same = floats({1, -0.0F, kNan, std::numeric_limits<float>::infinity()});
  const Beyond found = find_beyond(same.view(), same.view(), kTolerance);
  EXPECT_EQ(found.count, 0U);
  EXPECT_EQ(found.worst_at, -1);
}

TEST(FindBeyond, NamesTheElementThatIsMostTolerancesOff) {
  const auto device = floats({1, 2.1F, 1000, 0});
  const auto bench = floats({1, 2, 1010, 0});
  const Beyond found = find_beyond(device.view(), bench.view(), kTolerance);
  EXPECT_EQ(found.count, 2U);
  EXPECT_EQ(found.worst_at, 1);  // 50 tolerances; the larger error of 10 is 9.9
  EXPECT_NEAR(found.over, 50, 1e-4);
  EXPECT_FLOAT_EQ(static_cast<float>(found.device), 2.1F);
  EXPECT_EQ(found.bench, 2);
  EXPECT_NEAR(found.ulp, 0.1 * std::ldexp(1, 22), 1);
}

TEST(FindBeyond, SmallValuesHaveTheAbsoluteTolerance) {
  const auto bench = floats({1e-4F, 1e-4F});
  const auto device = floats({1e-4F + 5e-7F, 1e-4F + 5e-6F});
  const Beyond found = find_beyond(device.view(), bench.view(), kTolerance);
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.worst_at, 1);
}

TEST(FindBeyond, WhatIsNotFiniteOnOneSideIsInfinitelyFar) {
  const auto device = floats({5, kNan, 7});
  const auto bench = floats({1, 2, 7});
  const Beyond found = find_beyond(device.view(), bench.view(), kTolerance);
  EXPECT_EQ(found.count, 2U);
  EXPECT_EQ(found.worst_at, 1);
  EXPECT_EQ(found.over, kInf);
}

TEST(FindBeyond, IntegersMustBeEqualBeyondWhatADoubleHolds) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const auto device = longs({1, large});
  const auto bench = longs({1, large - 1});
  const Beyond found = find_beyond(device.view(), bench.view(), kTolerance);
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.worst_at, 1);
}

TEST(FindBeyond, AnEmptyPairHasNone) {
  const auto none = floats({});
  EXPECT_EQ(find_beyond(none.view(), none.view(), kTolerance).count, 0U);
}

}  // namespace
}  // namespace msprobe::metrics
