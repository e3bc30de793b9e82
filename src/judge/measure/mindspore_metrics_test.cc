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

Metrics of(const std::vector<double>& bench, const std::vector<double>& device,
           Arithmetic arithmetic = Arithmetic::kDocumented) {
  const Shape shape{static_cast<std::int64_t>(bench.size())};
  const auto view = [&](const std::vector<double>& values) {
    return TensorView{DType::kFloat64, shape, std::as_bytes(std::span(values))};
  };
  return mindspore_metrics(view(device), view(bench), arithmetic);
}

TEST(MindSporeMetrics, TheSpecifiedVector) {
  const double tested = static_cast<double>(1.9F);
  const Metrics found = of({1, 2, 3}, {1, tested, 3}, Arithmetic::kReference);
  EXPECT_DOUBLE_EQ(found.cosine, 0.9997375533422421);
  EXPECT_NEAR(of({1, 2, 3}, {1, tested, 3}).cosine, 0.9997375533422421, 1e-12);
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

TEST(MindSporeMetrics, OneSideOfZerosIsDecidedByTheAbsoluteErrorInReference) {
  const Metrics found = of({0, 0}, {0.5, 0.25}, Arithmetic::kReference);
  EXPECT_EQ(found.cosine, 1);
  EXPECT_EQ(found.max_abs_error, 0.5);
  EXPECT_EQ(of({0, 0}, {0.5, 0.25}).cosine, 0);
  EXPECT_EQ(of({0.5, 0.25}, {0, 0}).cosine, 0);
}

TEST(MindSporeMetrics, TinyOutputsHaveTheirTrueCosine) {
  EXPECT_NEAR(of({1e-6, 2e-6}, {2e-6, -1e-6}).cosine, 0, 1e-15);
  EXPECT_NEAR(of({1e-6, 2e-6}, {2e-6, -1e-6}, Arithmetic::kReference).cosine, 0.9995, 1e-5);
  EXPECT_NEAR(of({1e-6, 2e-6}, {1e-6, 2e-6}).cosine, 1, 1e-15);
  EXPECT_NEAR(of({1e-6}, {-1e-6}).cosine, -1, 1e-15);
}

TEST(MindSporeMetrics, SquaresBeyondTheRangeOfDoubleDoNotMatter) {
  for (const double size : {4e-324, 1e-310, 1e-200, 1e-140, 1.0, 1e150, 1e200, 1e308}) {
    EXPECT_NEAR(of({size, 0}, {size, 0}).cosine, 1, 1e-15) << size;
    EXPECT_NEAR(of({size, 0}, {0, size}).cosine, 0, 1e-15) << size;
    EXPECT_NEAR(of({size, size}, {0, 1}).cosine, std::sqrt(0.5), 1e-15) << size;
  }
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
                                          {DType::kInt64, shape, std::as_bytes(std::span(bench))},
                                          Arithmetic::kDocumented);
  EXPECT_EQ(found.max_abs_error, 1);
}

}  // namespace
}  // namespace msprobe::measure
