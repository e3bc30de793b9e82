// SPDX-License-Identifier: Apache-2.0
#include "documented/standard.h"

#include <gtest/gtest.h>

#include "documented/profiles_for_test.h"

namespace msprobe::documented {
namespace {

Standard of(std::string_view api, DType dtype, Profile profile = kDocumented,
            bool float8_input = false) {
  return standard_for({.api = api, .dtype = dtype, .device = {}}, float8_input, profile, kBuiltIn);
}

TEST(StandardFor, FollowsTheListsInDocumented) {
  EXPECT_EQ(of("__add__", DType::kFloat32), Standard::kAbsoluteThreshold);
  EXPECT_EQ(of("relu", DType::kFloat16), Standard::kBinaryConsistency);
  EXPECT_EQ(of("matmul", DType::kBFloat16), Standard::kUlp);
  EXPECT_EQ(of("conv2d", DType::kFloat32), Standard::kDual1000);
  EXPECT_EQ(of("sigmoid", DType::kFloat32), Standard::kBenchmark);
  EXPECT_EQ(of("linalg.norm", DType::kFloat32), Standard::kBenchmark);
}

TEST(StandardFor, TruedivTakesTheStandardOfDiv) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    EXPECT_EQ(of("__div__", dtype), Standard::kAbsoluteThreshold);
    EXPECT_EQ(of("__truediv__", dtype), Standard::kAbsoluteThreshold);
  }
}

TEST(StandardFor, ReferenceJudgesEveryFloatByTheBenchmark) {
  for (const auto* const api : {"__add__", "relu", "matmul", "conv2d", "sigmoid"}) {
    EXPECT_EQ(of(api, DType::kFloat32, kReference), Standard::kBenchmark) << api;
  }
}

TEST(StandardFor, DtypeComesBeforeTheLists) {
  for (const Profile profile : {kDocumented, kReference}) {
    EXPECT_EQ(of("relu", DType::kFloat8E4M3, profile), Standard::kUlp);
    EXPECT_EQ(of("relu", DType::kFloat16, profile, true), Standard::kAbsoluteThreshold);
    EXPECT_EQ(of("matmul", DType::kInt64, profile), Standard::kBinaryConsistency);
    EXPECT_EQ(of("matmul", DType::kBool, profile), Standard::kBinaryConsistency);
    EXPECT_EQ(of("matmul", DType::kFloat64, profile), Standard::kNone);
    EXPECT_EQ(of("matmul", DType::kComplex64, profile), Standard::kNone);
  }
}

TEST(LevelFor, GeluCountsAsGeluOnlyInDocumented) {
  const Subject gelu{.api = "gelu", .dtype = DType::kFloat32, .device = {}};
  EXPECT_EQ(level_for(gelu, kDocumented, kBuiltIn), Level::kL2);
  EXPECT_EQ(level_for(gelu, kReference, kBuiltIn), Level::kL0);
  EXPECT_EQ(listed_level("embedding", kReference), Level::kL1);
  EXPECT_EQ(listed_level("layer_norm", kReference), Level::kL2);
  EXPECT_EQ(listed_level("sigmoid", kDocumented), Level::kL0);
}

TEST(ThresholdsFor, DocumentedNumbersAreThoseOfTheDocument) {
  const auto f32 = thresholds_for({.dtype = DType::kFloat32}, kDocumented, kBuiltIn);
  EXPECT_EQ(f32.small_value, 6.103515625e-05);
  EXPECT_EQ(f32.small_value_atol, 9.313225746154785e-10);
  EXPECT_EQ(f32.ulp_count, 32);
  const auto bf16 = thresholds_for({.dtype = DType::kBFloat16}, kDocumented, kBuiltIn);
  EXPECT_EQ(bf16.small_value, 0.00390625);
  EXPECT_EQ(bf16.small_value_atol, 1.52587890625e-05);
  EXPECT_EQ(bf16.rtol, 0.00390625);
  EXPECT_EQ(bf16.ulp_count, 1);
}

TEST(ThresholdsFor, ReferenceNumbersAreThePublicTools) {
  const auto f16 = thresholds_for({.dtype = DType::kFloat16}, kReference, kBuiltIn);
  EXPECT_EQ(f16.small_value, 0.0009765625);
  EXPECT_EQ(f16.small_value_atol, 1e-16);
  EXPECT_EQ(f16.absolute_small_value_atol, 1.52587890625e-05);
  const auto f64 = thresholds_for({.dtype = DType::kFloat64}, kReference, kBuiltIn);
  EXPECT_EQ(f64.small_value, 9.5367431640625e-07);
  EXPECT_EQ(f64.ulp_count, 1);
}

TEST(LimitsFor, GrowStricterWithTheLevel) {
  const auto limits = [](std::string_view api, DType dtype) {
    return limits_for({.api = api, .dtype = dtype, .device = {}}, kDocumented, kBuiltIn);
  };
  for (const std::string_view api : {"sigmoid", "embedding", "sum"}) {  // of levels L0, L1, L2
    EXPECT_EQ(limits(api, DType::kFloat32).small_value_error_ratio, 2);
    EXPECT_EQ(limits(api, DType::kFloat32).error_balance_ratio, 2);
  }
  EXPECT_EQ(limits("sigmoid", DType::kFloat32).max_relative_error_ratio, 10);
  EXPECT_EQ(limits("embedding", DType::kFloat32).rmse_ratio, 1.5);
  EXPECT_EQ(limits("sum", DType::kFloat32).mean_relative_error_ratio, 1.2);
  EXPECT_EQ(limits("matmul", DType::kFloat32).mean_ulp, 64);
  EXPECT_EQ(limits("matmul", DType::kFloat32).ulp_proportion, 0.05);
  EXPECT_EQ(limits("matmul", DType::kFloat16).ulp_proportion, 0.001);
}

TEST(Rules, LaterRulesWinNumberByNumber) {
  Standards standards;
  standards.rules.push_back({.apis = {"conv2d"},
                             .dtypes = {},
                             .devices = {},
                             .standard = Standard::kUlp,
                             .level = Level::kL1,
                             .thresholds = {{&measure::Thresholds::rtol, 0.5}},
                             .ladder = {{&LadderLimits::cosine, 0.9}},
                             .limits = {}});
  standards.rules.push_back({.apis = {},
                             .dtypes = {DType::kFloat16},
                             .devices = {"npu"},
                             .standard = {},
                             .level = {},
                             .thresholds = {{&measure::Thresholds::rtol, 0.25}},
                             .ladder = {},
                             .limits = {{&CompareLimits::rmse_ratio, 3}}});
  const Subject half{.api = "conv2d", .dtype = DType::kFloat16, .device = "npu"};
  EXPECT_EQ(standard_for(half, false, kDocumented, standards), Standard::kUlp);
  EXPECT_EQ(level_for(half, kDocumented, standards), Level::kL1);
  EXPECT_EQ(thresholds_for(half, kDocumented, standards).rtol, 0.25);
  EXPECT_EQ(ladder_for(half, standards).cosine, 0.9);
  EXPECT_EQ(limits_for(half, kDocumented, standards).rmse_ratio, 3);
  EXPECT_EQ(limits_for(half, kDocumented, standards).max_relative_error_ratio, 5);
  const Subject elsewhere{.api = "conv2d", .dtype = DType::kFloat16, .device = "cuda"};
  EXPECT_EQ(thresholds_for(elsewhere, kDocumented, standards).rtol, 0.5);
  const Subject integers{.api = "conv2d", .dtype = DType::kInt64, .device = "npu"};
  EXPECT_EQ(standard_for(integers, false, kDocumented, standards), Standard::kBinaryConsistency);
}

}  // namespace
}  // namespace msprobe::documented
