// SPDX-License-Identifier: Apache-2.0
// The definitions of the metrics, by hand-made pairs; measure() and measure_reference() must agree
// on each of them.
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "measure/metrics.h"
#include "measure/tensor_for_test.h"

namespace msprobe::measure {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

constexpr Thresholds kSeedSingle{0x1p-14, 0x1p-30, 0x1p-30, 0x1p-20, 32, 0x1p-11};
constexpr Thresholds kReferenceSingle{0x1p-20, 0x1p-30, 0x1p-30, 0x1p-20, 32, 0x1p-11};
constexpr Thresholds kSeedHalf{0x1p-11, 0x1p-16, 0x1p-16, 0x1p-10, 1, 0x1p-8};

using Function = Metrics (*)(const TensorView&, const TensorView&, const MeasureOptions&);

class Definitions : public ::testing::TestWithParam<Function> {
 protected:
  static Metrics run(const TestTensor& device, const TestTensor& bench,
                     const MeasureOptions& options) {
    return GetParam()(device.view(), bench.view(), options);
  }
  static Metrics documented(const TestTensor& device, const TestTensor& bench,
                            const Thresholds& thresholds = kSeedSingle) {
    return run(device, bench, {.thresholds = thresholds});
  }
  static Metrics reference(const TestTensor& device, const TestTensor& bench,
                           const Thresholds& thresholds = kReferenceSingle) {
    return run(device, bench, {.thresholds = thresholds, .arithmetic = Arithmetic::kReference});
  }
};

INSTANTIATE_TEST_SUITE_P(Both, Definitions, ::testing::Values(&measure, &measure_reference),
                         [](const auto& which) { return which.index == 0 ? "Fast" : "Plain"; });

// A vector with known metrics: device float32, bench float64.
const TestTensor& v1_device() {
  static const TestTensor kTensor = tensor_of(DType::kFloat32, {1 + 0x1p-9, -2, 0.5, 0x1p-16, 0});
  return kTensor;
}
const TestTensor& v1_bench() {
  static const TestTensor kTensor = tensor_of(DType::kFloat64, {1, -2, 0.5, 0x1p-17, 0});
  return kTensor;
}

void expect_v1_of_any_threshold(const Metrics& m) {
  EXPECT_EQ(m.count, 5U);
  EXPECT_NEAR(m.cosine, 0.99999970610966, 1e-14);
  EXPECT_EQ(m.max_abs_error, 0x1p-9);
  EXPECT_EQ(m.device_abs_max, 2);
  EXPECT_EQ(m.bench_abs_max, 2);
  EXPECT_EQ(m.within_100, 4U);
  EXPECT_EQ(m.within_1000, 3U);
  EXPECT_EQ(m.within_10000, 3U);
  EXPECT_DOUBLE_EQ(m.error_balance, 0.4);
  EXPECT_EQ(m.max_ulp_error, 8388608);
  EXPECT_DOUBLE_EQ(m.mean_ulp_error, 1680998.4);
  EXPECT_EQ(m.ulp_errors, 2U);
  EXPECT_EQ(m.different, 2U);
  EXPECT_EQ(m.not_finite, 0U);
}

TEST_P(Definitions, V1WithTheDocumentedThresholds) {
  for (const Arithmetic arithmetic : {Arithmetic::kDocumented, Arithmetic::kReference}) {
    const Metrics m = run(v1_device(), v1_bench(), {kSeedSingle, arithmetic});
    expect_v1_of_any_threshold(m);
    EXPECT_EQ(m.small, 2U);
    EXPECT_EQ(m.small_errors, 1U);
    EXPECT_EQ(m.absolute_small_errors, 1U);
    EXPECT_EQ(m.normal, 3U);
    EXPECT_EQ(m.relative_errors, 1U);
    EXPECT_NEAR(m.rmse, 0.00112765228020, 1e-14);
    EXPECT_NEAR(m.max_relative_error, 0.00195312500000, 1e-14);
    EXPECT_NEAR(m.mean_relative_error, 0.00065104166667, 1e-14);
  }
}

TEST_P(Definitions, V1WithTheReferenceThresholds) {
  for (const Arithmetic arithmetic : {Arithmetic::kDocumented, Arithmetic::kReference}) {
    const Metrics m = run(v1_device(), v1_bench(), {kReferenceSingle, arithmetic});
    expect_v1_of_any_threshold(m);
    EXPECT_EQ(m.small, 1U);
    EXPECT_EQ(m.small_errors, 0U);
    EXPECT_EQ(m.absolute_small_errors, 0U);
    EXPECT_EQ(m.normal, 4U);
    EXPECT_EQ(m.relative_errors, 2U);
    EXPECT_NEAR(m.rmse, 0.00097659680616, 1e-14);
    EXPECT_NEAR(m.max_relative_error, 0.99999999997090, 1e-14);
    EXPECT_NEAR(m.mean_relative_error, 0.25048828124272, 1e-14);
  }
}

// 70000 overflows float16, so an infinity is the right answer there.
TEST_P(Definitions, V2CountsTheInfinityThatBenchDoesNotHave) {
  const TestTensor device = tensor_of(DType::kFloat16, {kInfinite, NAN, kInfinite, kInfinite, 2});
  const TestTensor bench = tensor_of(DType::kFloat32, {kInfinite, NAN, 1, 70000, 2});
  for (const Arithmetic arithmetic : {Arithmetic::kDocumented, Arithmetic::kReference}) {
    const Metrics m = run(device, bench, {kSeedHalf, arithmetic});
    EXPECT_EQ(m.count, 5U);
    EXPECT_EQ(m.not_finite, 4U);
    EXPECT_EQ(m.not_finite_errors, 1U);
    EXPECT_EQ(m.normal, 1U);
    EXPECT_TRUE(std::isnan(m.cosine));
    EXPECT_TRUE(std::isnan(m.max_abs_error));
    EXPECT_TRUE(std::isnan(m.max_ulp_error));
    EXPECT_TRUE(std::isnan(m.mean_ulp_error));
    EXPECT_TRUE(std::isnan(m.device_abs_max));
    EXPECT_TRUE(std::isnan(m.bench_abs_max));
    EXPECT_EQ(m.rmse, 0);
    EXPECT_EQ(m.different, 3U);
    EXPECT_EQ(m.within_100, 1U);
    EXPECT_DOUBLE_EQ(m.error_balance, 0.2);
  }
}

TEST_P(Definitions, AnEmptyPairIsZeroEverywhere) {
  const Metrics m = documented(tensor_of(DType::kFloat32, {}), tensor_of(DType::kFloat64, {}));
  EXPECT_EQ(m.count, 0U);
  EXPECT_EQ(m.cosine, 0);
  EXPECT_EQ(m.max_abs_error, 0);
  EXPECT_EQ(m.rmse, 0);
  EXPECT_EQ(m.max_ulp_error, 0);
  EXPECT_EQ(m.error_balance, 0);
}

TEST_P(Definitions, AllSmallLeavesTheNormalMetricsAtZero) {
  const Metrics m = documented(tensor_of(DType::kFloat32, {0x1p-20, 0, -0x1p-16}),
                               tensor_of(DType::kFloat64, {0x1p-21, 0, -0x1p-16}));
  EXPECT_EQ(m.small, 3U);
  EXPECT_EQ(m.small_errors, 1U);
  EXPECT_EQ(m.normal, 0U);
  EXPECT_EQ(m.rmse, 0);
  EXPECT_EQ(m.max_relative_error, 0);
  EXPECT_EQ(m.mean_relative_error, 0);
}

TEST_P(Definitions, ThresholdsThemselvesAreNotCrossed) {
  const TestTensor bench = tensor_of(DType::kFloat64, {0x1p-14, 0x1p-14, 1 - 0x1p-52, 1, 1});
  const TestTensor device = tensor_of(
      DType::kFloat64, {0x1p-14 + 0x1p-30, 0x1p-14 + 0x1p-29, 1 - 0x1p-52 + 0x1p-20, 1.01, 1.0101});
  const Metrics m = documented(device, bench);
  EXPECT_EQ(m.small, 2U);
  EXPECT_EQ(m.small_errors, 1U);
  EXPECT_EQ(m.relative_errors, 2U);
  EXPECT_EQ(m.within_100, 3U);  // (1.01 - 1) / (1 + 2^-52) is 0.01 and a bit
  EXPECT_EQ(m.ulp_errors, 0U);  // float64 has no ULP metric
  EXPECT_EQ(m.max_ulp_error, 0);
}

TEST_P(Definitions, ZerosHaveNoCosine) {
  const TestTensor zeros = tensor_of(DType::kFloat32, {0, 0});
  const TestTensor ones = tensor_of(DType::kFloat64, {1, 1});
  EXPECT_TRUE(std::isnan(documented(zeros, ones).cosine));
  EXPECT_EQ(documented(zeros, ones).device_abs_max, 0);
  EXPECT_DOUBLE_EQ(documented(tensor_of(DType::kFloat32, {-3, -3}), ones).cosine, -1);
}

TEST_P(Definitions, CosineOfExtremeNumbersIsScaled) {
  const Metrics huge = documented(tensor_of(DType::kFloat64, {1e300, 2e300, 3e300}),
                                  tensor_of(DType::kFloat64, {1e300, 2e300, -3e300}));
  EXPECT_NEAR(huge.cosine, -4.0 / 14, 1e-12);
  const Metrics tiny = documented(tensor_of(DType::kFloat64, {1e-300, 2e-300, 3e-300}),
                                  tensor_of(DType::kFloat64, {1e-310, 2e-310, -3e-310}));
  EXPECT_NEAR(tiny.cosine, -4.0 / 14, 1e-12);
}

TEST_P(Definitions, UnitsInTheLastPlaceOfZeroAndTinyBench) {
  // bench 0 counts in units of the smallest subnormal; the public tool takes the exponent 0 there.
  const TestTensor device = tensor_of(DType::kFloat16, {0x1p-24, 3 * 0x1p-24, 1 + 0x1p-10});
  const TestTensor bench = tensor_of(DType::kFloat32, {0, 0x1p-20, 1});
  const Metrics m = documented(device, bench, kSeedHalf);
  EXPECT_EQ(m.max_ulp_error, 13);
  EXPECT_DOUBLE_EQ(m.mean_ulp_error, (1 + 13 + 1) / 3.0);
  EXPECT_EQ(m.ulp_errors, 1U);
  const Metrics r = reference(device, bench, kSeedHalf);
  EXPECT_FLOAT_EQ(static_cast<float>(r.mean_ulp_error), (0x1p-14F + 13 + 1) / 3);
}

// 2^133 is beyond float32: the public tool multiplies infinity by 0.
TEST_P(Definitions, TinyBfloat16OverflowsOnlyInReferenceArithmetic) {
  const TestTensor device = tensor_of(DType::kBFloat16, {0x1p-126, 0x1p-126});
  const TestTensor bench = tensor_of(DType::kFloat32, {0x1p-126, 0x1p-126 + 0x1p-133});
  EXPECT_EQ(documented(device, bench).max_ulp_error, 1);
  EXPECT_TRUE(std::isnan(reference(device, bench).max_ulp_error));
}

TEST_P(Definitions, SquaresOverflowOnlyInReferenceArithmetic) {
  const TestTensor device = tensor_of(DType::kBFloat16, {0x1p100, 1});
  const TestTensor bench = tensor_of(DType::kFloat32, {0x1p80, 1});
  EXPECT_TRUE(std::isfinite(documented(device, bench).rmse));
  EXPECT_EQ(reference(device, bench).rmse, kInfinite);
}

TEST_P(Definitions, InfiniteBfloat16IsRightWhereBenchRoundsToIt) {
  const TestTensor device = tensor_of(DType::kBFloat16, {kInfinite, kInfinite, -kInfinite, 1});
  const TestTensor bench = tensor_of(DType::kFloat32, {3.4e38, 3.38e38, 3.4e38, 1});
  const Metrics m = documented(device, bench);
  EXPECT_EQ(m.not_finite, 3U);
  EXPECT_EQ(m.not_finite_errors, 2U);
}

TEST_P(Definitions, ErrorBalanceRoundsBenchToTheDevicesType) {
  // Correctly rounded: not an error of either sign, although D != B.
  const Metrics half = documented(tensor_of(DType::kFloat16, {1, -1, 0x1p-24}),
                                  tensor_of(DType::kFloat64, {1.0001, -1.0001, 0x1.8p-25}));
  EXPECT_EQ(half.different, 3U);
  EXPECT_EQ(half.error_balance, 0);
  // Through float32 this would round twice, to 1 + 2^-10.
  const Metrics once = documented(tensor_of(DType::kFloat16, {1}),
                                  tensor_of(DType::kFloat64, {1 + 0x1p-11 - 0x1p-40}));
  EXPECT_EQ(once.error_balance, 0);
  // bfloat16 is held as float32.
  const Metrics bfloat = documented(tensor_of(DType::kBFloat16, {1, 1, 2}),
                                    tensor_of(DType::kFloat32, {1.001, 1.001, 1.99}));
  EXPECT_DOUBLE_EQ(bfloat.error_balance, 1.0 / 3);
}

TEST_P(Definitions, LargeIntegersAreComparedExactly) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const TestTensor device = stored<std::int64_t>(DType::kInt64, {large, -5, INT64_MIN});
  const TestTensor bench = stored<std::int64_t>(DType::kInt64, {large - 1, -5, INT64_MAX});
  const Metrics m = documented(device, bench);
  EXPECT_EQ(m.count, 3U);
  EXPECT_EQ(m.different, 2U);
  EXPECT_EQ(m.max_abs_error, 0x1p64);
  EXPECT_EQ(m.device_abs_max, 0x1p63);
  EXPECT_EQ(m.normal, 0U);
  EXPECT_EQ(m.not_finite, 0U);
  EXPECT_EQ(m.cosine, 0);
  EXPECT_EQ(reference(device, bench).max_abs_error, 1);  // wrapped around
}

TEST_P(Definitions, IntegersOfDifferentTypesAreComparedByValue) {
  const TestTensor device = stored<std::uint64_t>(DType::kUInt64, {UINT64_MAX, 7, 1});
  const TestTensor bench = stored<std::int8_t>(DType::kInt8, {-1, 7, 0});
  const Metrics m = documented(device, bench);
  EXPECT_EQ(m.different, 2U);
  EXPECT_EQ(m.max_abs_error, 0x1p64);
  const TestTensor truth = stored<std::uint8_t>(DType::kBool, {1, 0, 1});
  EXPECT_EQ(documented(truth, stored<std::int32_t>(DType::kInt32, {1, 0, 2})).different, 1U);
  EXPECT_EQ(documented(truth, truth).different, 0U);
}

TEST_P(Definitions, SmallIntegersWrapAroundInReferenceArithmetic) {
  const TestTensor device = stored<std::uint8_t>(DType::kUInt8, {1, 2});
  const TestTensor bench = stored<std::uint8_t>(DType::kUInt8, {2, 2});
  EXPECT_EQ(documented(device, bench).max_abs_error, 1);
  EXPECT_EQ(reference(device, bench).max_abs_error, 255);
  const TestTensor low = stored<std::int8_t>(DType::kInt8, {-128});
  const TestTensor high = stored<std::int8_t>(DType::kInt8, {127});
  EXPECT_EQ(documented(low, high).max_abs_error, 255);
  EXPECT_EQ(reference(low, high).max_abs_error, 1);
  EXPECT_EQ(reference(low, stored<std::int8_t>(DType::kInt8, {0})).max_abs_error, -128);
  EXPECT_EQ(reference(low, stored<std::int32_t>(DType::kInt32, {127})).max_abs_error, 255);
}

TEST_P(Definitions, FloatsAgainstIntegersAreMeasuredInDouble) {
  const Metrics m = documented(tensor_of(DType::kFloat32, {1, 2.5, 3}),
                               stored<std::int32_t>(DType::kInt32, {1, 2, 3}));
  EXPECT_EQ(m.different, 1U);
  EXPECT_EQ(m.max_abs_error, 0.5);
  EXPECT_DOUBLE_EQ(m.max_relative_error, 0.25);
  EXPECT_EQ(m.normal, 3U);
}

TEST_P(Definitions, ComplexErrorsAreModuli) {
  const TestTensor device = stored<float>(DType::kComplex64, {3, 4, 1, 0, 0, 2});
  const TestTensor bench = stored<double>(DType::kComplex128, {3, 4, 1, 1, 0, 2});
  const Metrics m = documented(device, bench);
  EXPECT_EQ(m.count, 3U);
  EXPECT_EQ(m.device_abs_max, 5);
  EXPECT_EQ(m.max_abs_error, 1);
  EXPECT_EQ(m.different, 1U);
  EXPECT_DOUBLE_EQ(m.max_relative_error, 1 / std::sqrt(2.0));
  // <D,B> = 25 + (1 - i) + 4
  EXPECT_NEAR(m.cosine, std::sqrt(30 * 30 + 1) / (std::sqrt(30.0) * std::sqrt(31.0)), 1e-15);
  EXPECT_EQ(m.error_balance, 0);
  EXPECT_EQ(m.max_ulp_error, 0);
}

TEST_P(Definitions, ComplexNumbersThatAreNotFinite) {
  const TestTensor device = stored<double>(DType::kComplex128, {1, kInfinite, NAN, 0, 1, 1});
  const TestTensor bench = stored<double>(DType::kComplex128, {1, kInfinite, 0, 0, 1, 1});
  const Metrics m = documented(device, bench);
  EXPECT_EQ(m.not_finite, 2U);
  EXPECT_EQ(m.not_finite_errors, 1U);
  EXPECT_TRUE(std::isnan(m.max_abs_error));
  EXPECT_TRUE(std::isnan(m.cosine));
  EXPECT_EQ(m.different, 1U);
}

TEST_P(Definitions, EightBitUnitsFollowTheTaperedMantissa) {
  // HiFloat8: 1.125, 1.0 and -16 against 1, 1.25 and 16.
  const TestTensor device = stored<std::uint8_t>(DType::kHiFloat8, {0x09, 0x08, 0xc0});
  const TestTensor bench = tensor_of(DType::kFloat32, {1, 1.25, -20});
  const Metrics m = documented(device, bench);
  EXPECT_EQ(m.max_ulp_error, 2);  // 0.25 * 2^3; 4 * 2^(2 - 4) = 1
  EXPECT_DOUBLE_EQ(m.mean_ulp_error, (1 + 2 + 1) / 3.0);
  const Metrics r = reference(device, bench);
  EXPECT_EQ(r.max_ulp_error, 1);  // signed
  EXPECT_DOUBLE_EQ(r.mean_ulp_error, (1 - 2 + 1) / 3.0);
}

TEST_P(Definitions, EightBitOverflowMatchesTheFormat) {
  // float8_e4m3fn has no infinity: 500 becomes NaN.
  const Metrics m = documented(stored<std::uint8_t>(DType::kFloat8E4M3, {0x7f, 0x7f, 0x38}),
                               tensor_of(DType::kFloat32, {500, 400, 1}));
  EXPECT_EQ(m.not_finite, 2U);
  EXPECT_EQ(m.not_finite_errors, 1U);
  const Metrics n = documented(stored<std::uint8_t>(DType::kFloat8E5M2, {0x7c, 0x7c, 0x3c}),
                               tensor_of(DType::kFloat32, {61440, 61439, 1}));
  EXPECT_EQ(n.not_finite, 2U);
  EXPECT_EQ(n.not_finite_errors, 1U);
}

}  // namespace
}  // namespace msprobe::measure
