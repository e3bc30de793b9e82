// SPDX-License-Identifier: Apache-2.0
#include "measure/mindspore_metrics.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace msprobe::measure {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Metrics of(const std::vector<double>& bench, const std::vector<double>& device) {
  const Shape shape{static_cast<std::int64_t>(bench.size())};
  const auto view = [&](const std::vector<double>& values) {
    return TensorView{DType::kFloat64, shape, std::as_bytes(std::span(values))};
  };
  return mindspore_metrics(view(device), view(bench));
}

TEST(MindSporeMetrics, TheSpecifiedVector) {
  const double tested = static_cast<double>(1.9F);
  const Metrics found = of({1, 2, 3}, {1, tested, 3});
  EXPECT_DOUBLE_EQ(found.cosine, 0.9997375533422421);
  EXPECT_DOUBLE_EQ(found.max_abs_error, 0.10000002384185791);
  EXPECT_DOUBLE_EQ(found.max_relative_error, 0.050000011920928955);
}

TEST(MindSporeMetrics, ZerosAndEmptyPairsAreAlike) {
  for (const auto& [bench, device] : {std::pair<std::vector<double>, std::vector<double>>{},
                                      std::pair(std::vector{0.0, 0.0}, std::vector{0.0, 0.0})}) {
    const Metrics found = of(bench, device);
    EXPECT_EQ(found.cosine, 1);
    EXPECT_EQ(found.max_abs_error, 0);
    EXPECT_EQ(found.max_relative_error, 0);
  }
}

TEST(MindSporeMetrics, OneSideOfZerosIsDecidedByTheAbsoluteError) {
  const Metrics found = of({0, 0}, {0.5, 0.25});
  EXPECT_EQ(found.cosine, 1);
  EXPECT_EQ(found.max_abs_error, 0.5);
}

TEST(MindSporeMetrics, NanAndInfinityAtTheSamePlaceAreEqual) {
  const Metrics found = of({kNan, kInfinity, -kInfinity, 2}, {kNan, kInfinity, -kInfinity, 2});
  EXPECT_NEAR(found.cosine, 1, 1e-15);
  EXPECT_EQ(found.max_abs_error, 0);
}

TEST(MindSporeMetrics, NanOrInfinityOnOneSideIsNeverSmall) {
  EXPECT_TRUE(std::isnan(of({1, 2}, {1, kNan}).max_abs_error));
  EXPECT_TRUE(std::isnan(of({kNan, 2}, {1, 2}).cosine));
  EXPECT_FALSE(of({1, 2}, {kInfinity, 2}).max_abs_error < 1);
  EXPECT_FALSE(of({kInfinity, 2}, {-kInfinity, 2}).max_abs_error < 1);
}

TEST(MindSporeMetrics, IntegersAreExact) {
  const std::vector<std::int64_t> bench{(std::int64_t{1} << 60) + 1};
  const std::vector<std::int64_t> device{std::int64_t{1} << 60};
  const Shape shape{1};
  const Metrics found = mindspore_metrics({DType::kInt64, shape, std::as_bytes(std::span(device))},
                                          {DType::kInt64, shape, std::as_bytes(std::span(bench))});
  EXPECT_EQ(found.max_abs_error, 1);
}

}  // namespace
}  // namespace msprobe::measure
