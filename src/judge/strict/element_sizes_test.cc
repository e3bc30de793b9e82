// SPDX-License-Identifier: Apache-2.0
#include "strict/element_sizes.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "libtorch/aten.h"

namespace msprobe::strict {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kCounts[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 33, 1000};

// NaN and infinities among them.
at::Tensor numbers(std::int64_t count, double step) {
  at::Tensor all = at::arange(count, at::kDouble).mul_(step).sub_(2).sin_();
  if (count > 4) {
    all[0] = kNotANumber;
    all[1] = kInfinity;
    all[count - 1] = -kInfinity;
  }
  return all;
}

template <class T>
std::span<T> span_of(at::Tensor& tensor) {
  return {tensor.data_ptr<T>(), static_cast<std::size_t>(tensor.numel())};
}

double largest(const at::Tensor& all) {
  return all.to(at::kDouble).abs().nan_to_num(0, 0, 0).max().item<double>();
}

TEST(LargestFinite, IsThatOfOperatorsOnTensors) {
  for (const std::int64_t count : kCounts) {
    at::Tensor wide = numbers(count, 0.7);
    at::Tensor narrow = wide.to(at::kFloat);
    at::Tensor other = numbers(count, 1.3).roll(1);
    EXPECT_EQ(largest_finite(span_of<double>(wide)), largest(wide)) << count;
    EXPECT_EQ(largest_finite(span_of<float>(narrow)), largest(narrow)) << count;
    EXPECT_EQ(largest_product(span_of<float>(narrow), span_of<double>(other)),
              largest(narrow.to(at::kDouble) * other))
        << count;
  }
  EXPECT_EQ(largest_finite(std::span<const float>()), 0);
}

TEST(Distances, TellOverflowsFromOtherNumbers) {
  constexpr float kFar = std::numeric_limits<float>::infinity();
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const float given[] = {1.5F, kFar, -kFar, kNone, kNone, kFar, 2, 3, 4};
  const double right[] = {1.25, 100, -100, 100, 1, 1, kNotANumber, kInfinity, 4};
  const double wanted[] = {0.25, kInfinity, kInfinity, kNotANumber, 0, 0, 0, 0, 0};
  double found[std::size(given)];
  distances(given, right, 50, found);
  for (std::size_t i = 0; i < std::size(given); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(found[i])) << i;
    } else {
      EXPECT_EQ(found[i], wanted[i]) << i;
    }
  }
}

TEST(WidenSpreads, KeepsTheLargestMove) {
  for (const std::int64_t count : kCounts) {
    at::Tensor base = numbers(count, 0.3);
    at::Tensor spreads = at::zeros({count}, at::kDouble);
    at::Tensor wanted = spreads.clone();
    for (const double step : {0.31, 0.29}) {
      at::Tensor moved = numbers(count, step).roll(1);
      widen_spreads(span_of<double>(moved), span_of<double>(base), 4, span_of<double>(spreads));
      wanted = at::maximum(wanted, (moved - base).abs().div(4).nan_to_num(0, 0, 0));
    }
    EXPECT_TRUE(spreads.equal(wanted)) << count;
  }
}

TEST(WidenToUsual, IsTheRootOfTheMeanSquareOfElementsOfOneSize) {
  const double bench[] = {1, 1.5, -1.9, 4, -5, 0, 0, kInfinity};
  const double spreads[] = {1, 2, 0, 3, 1, 2, 0, 7};
  double usual[std::size(bench)];
  widen_to_usual(bench, spreads, usual);
  const double of_one = std::sqrt(5.0 / 3);
  const double of_four = std::sqrt(5.0);
  const double of_zero = std::sqrt(2.0);
  const double wanted[] = {of_one, 2, of_one, 3, of_four, 2, of_zero, 7};
  for (std::size_t i = 0; i < std::size(bench); ++i) EXPECT_DOUBLE_EQ(usual[i], wanted[i]) << i;
}

TEST(UsedShares, LeaveTheOutliersAside) {
  for (const std::int64_t count : kCounts) {
    at::Tensor bench = numbers(count, 0.7);
    at::Tensor device = (bench + numbers(count, 0.3) * 1e-3).to(at::kFloat);
    const at::Tensor spreads = numbers(count, 0.2).abs().nan_to_num(0, 0, 0).add_(0.1);
    const UsedShares used = used_shares(span_of<float>(device), span_of<double>(bench),
                                        {0.5, 0.25, 2, spreads.data_ptr<double>()});
    const at::Tensor error = (device.to(at::kDouble) - bench).abs();
    const at::Tensor inexact = error.gt(0).logical_and(error.isfinite());
    const at::Tensor shares =
        (error / (bench.abs() * 0.5 + 0.25 + spreads * 2)).masked_select(inexact);
    EXPECT_EQ(used.inexact, shares.numel()) << count;
    if (shares.numel() > kOutliers) {
      const at::Tensor sorted = std::get<0>(shares.sort(0, /*descending=*/true));
      for (int i = 0; i <= kOutliers; ++i) {
        EXPECT_EQ(used.largest[static_cast<std::size_t>(i)], sorted[i].item<double>()) << count;
      }
    }
  }
  EXPECT_EQ(used_shares({}, {}, {1, 1, 1, nullptr}).inexact, 0);
}

TEST(UsedShares, OfPartsAreThoseOfTheWhole) {
  at::Tensor bench = numbers(1000, 0.7);
  at::Tensor device = (bench + numbers(1000, 0.3) * 1e-3).to(at::kFloat);
  const std::span<const float> devices = span_of<float>(device);
  const std::span<const double> benches = span_of<double>(bench);
  const ElementLimits limits{0.5, 0.25, 0, nullptr};
  const UsedShares whole = used_shares(devices, benches, limits);
  UsedShares sum;
  for (std::size_t i = 0; i < devices.size(); i += 100) {
    sum.add(used_shares(devices.subspan(i, 100), benches.subspan(i, 100), limits));
  }
  EXPECT_EQ(sum.inexact, whole.inexact);
  EXPECT_EQ(sum.largest, whole.largest);
}

}  // namespace
}  // namespace msprobe::strict
