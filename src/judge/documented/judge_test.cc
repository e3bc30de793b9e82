// SPDX-License-Identifier: Apache-2.0
#include "documented/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documented/profiles_for_test.h"
#include "measure/metrics.h"

namespace msprobe::documented {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Context context_of(std::string_view api, Profile profile = Profile::kDocumented) {
  return {.row_name = "Functional.f.0.forward.output.0",
          .api = api,
          .profile = profile,
          .standards = kBuiltIn};
}

struct Shapes {
  Shape shape = {5};
  OutputPair pair(DType bench, DType device) const { return {bench, shape, device, shape}; }
};

// A vector with known metrics: device float32, bench float64.
measure::Metrics vector_one() {
  measure::Metrics metrics;
  metrics.count = 5;
  metrics.device_abs_max = 2;
  metrics.bench_abs_max = 2;
  metrics.cosine = 0.99999970610966;
  metrics.max_abs_error = 0x1p-9;
  metrics.within_100 = 4;
  metrics.within_1000 = 3;
  metrics.within_10000 = 3;
  metrics.error_balance = 0.4;
  metrics.rmse = 0.0011276522802;
  metrics.small = 2;
  metrics.small_errors = 1;
  metrics.normal = 3;
  metrics.max_relative_error = 0x1p-9;
  metrics.mean_relative_error = 0x1p-9 / 3;
  metrics.absolute_small_errors = 1;
  metrics.relative_errors = 1;
  metrics.max_ulp_error = 8388608;
  metrics.mean_ulp_error = 1680998.4;
  metrics.ulp_errors = 2;
  return metrics;
}

TEST(JudgeTensor, LadderStopsAtDual1000ForFloat32) {
  const Shapes shapes;
  const DetailRow row = judge_tensor(shapes.pair(DType::kFloat64, DType::kFloat32), vector_one(),
                                     context_of("sigmoid"));
  EXPECT_EQ(row.status, Verdict::kError);
  EXPECT_EQ(row.message, "Relative error is greater than 0.001, consider as error.");
  EXPECT_DOUBLE_EQ(row.dual_100.value, 0.8);
  EXPECT_DOUBLE_EQ(row.dual_1000.value, 0.6);
  EXPECT_DOUBLE_EQ(row.dual_10000.value, 0.6);
  EXPECT_DOUBLE_EQ(row.small_value_error_ratio.value, 0.5);
  EXPECT_EQ(row.shape, "(5,)");
  EXPECT_EQ(row.bench_dtype, "torch.float64");
  EXPECT_EQ(row.device_dtype, "torch.float32");
}

// Profile reference leaves blank what comes after the deciding step, with the public tool's words.
TEST(JudgeTensor, ReferenceStopsAtTheDecidingStep) {
  const Shapes shapes;
  const OutputPair pair = shapes.pair(DType::kFloat64, DType::kFloat32);
  const DetailRow row = judge_tensor(pair, vector_one(), context_of("matmul", Profile::kReference));
  EXPECT_EQ(row.message,
            "\nRelative error is greater than 0.001, consider as error, skip other check and set "
            "to SPACE.\n");
  EXPECT_TRUE(row.dual_100.blank());
  EXPECT_TRUE(row.mean_ulp_error.blank());
  EXPECT_TRUE(row.relative_error_rate.blank());
  EXPECT_FALSE(row.rmse.blank());
}

using Metric = Cell DetailRow::*;
constexpr Metric kFloatMetrics[] = {
    &DetailRow::cosine,
    &DetailRow::max_abs_error,
    &DetailRow::dual_100,
    &DetailRow::dual_1000,
    &DetailRow::dual_10000,
    &DetailRow::error_balance,
    &DetailRow::rmse,
    &DetailRow::small_value_error_ratio,
    &DetailRow::max_relative_error,
    &DetailRow::mean_relative_error,
    &DetailRow::inf_nan_error_rate,
    &DetailRow::relative_error_rate,
    &DetailRow::absolute_error_rate,
    &DetailRow::max_ulp_error,
    &DetailRow::mean_ulp_error,
    &DetailRow::ulp_error_proportion,
};

// Document 000 has no blank metric of an output that was compared, whichever step of the ladder
// decided; binary consistency "is displayed only for" integers and APIs of that standard.
TEST(JudgeTensor, EveryMetricOfAMeasuredPairIsFilled) {
  const Shapes shapes;
  for (const double cosine : {0.5, 0.999, kNan}) {
    for (const double max_abs : {0.0001, 0.1}) {
      for (const DType device : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
        for (const char* api : {"sigmoid", "add", "relu", "matmul", "conv2d"}) {
          measure::Metrics metrics = vector_one();
          metrics.cosine = cosine;
          metrics.max_abs_error = max_abs;
          metrics.small = metrics.small_errors = 0;  // an empty set counts as 0
          const DetailRow row =
              judge_tensor(shapes.pair(DType::kFloat64, device), metrics, context_of(api));
          for (const Metric metric : kFloatMetrics) {
            EXPECT_EQ((row.*metric).kind, Cell::Kind::kDouble) << api;
          }
          EXPECT_EQ(row.binary_error_rate.blank(), api != std::string_view("relu")) << api;
          EXPECT_EQ(row.message.find('\n'), std::string::npos) << row.message;
          EXPECT_EQ(row.message.find("SPACE"), std::string::npos) << row.message;
        }
      }
    }
  }
}

// A pair that is equal bit for bit passes every ladder and standard, infinities and NaN included.
TEST(JudgeTensor, WhatIsEqualBitForBitPassesEverything) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Shape shape = {4};
  for (const std::array<float, 4>& values :
       {std::array{1.0F, -inf, inf, 2.0F}, std::array{nan, nan, -inf, 3.0F},
        std::array{nan, nan, nan, nan}, std::array{-inf, -inf, -inf, -inf},
        std::array{0.0F, 0.0F, 0.0F, 0.0F}}) {
    std::array<double, 4> wide{};
    std::ranges::copy(values, wide.begin());
    const TensorView device{DType::kFloat32, shape, std::as_bytes(std::span(values))};
    const TensorView bench{DType::kFloat64, shape, std::as_bytes(std::span(wide))};
    for (const char* api : {"sigmoid", "add", "relu", "matmul", "conv2d"}) {
      const Context context = context_of(api);
      const OutputPair pair{DType::kFloat64, shape, DType::kFloat32, shape};
      const measure::Metrics metrics =
          measure::measure(device, bench, measure_options(pair, context));
      EXPECT_TRUE(metrics.identical);
      const DetailRow row = judge_tensor(pair, metrics, context);
      EXPECT_EQ(row.status, Verdict::kPass) << api << ": " << row.message;
      EXPECT_EQ(row.cosine.value, 1);
      EXPECT_EQ(row.dual_1000.value, 1);
      for (const Metric metric :
           {&DetailRow::max_abs_error, &DetailRow::binary_error_rate, &DetailRow::rmse,
            &DetailRow::inf_nan_error_rate, &DetailRow::relative_error_rate,
            &DetailRow::mean_ulp_error, &DetailRow::ulp_error_proportion}) {
        EXPECT_EQ((row.*metric).value, 0) << api;
      }
    }
  }
}

TEST(JudgeTensor, ANanOrInfOnOneSideOnlyIsNotEqual) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Shape shape = {2};
  for (const auto& [first, other] :
       {std::pair(nan, 1.0F), std::pair(inf, 1.0F), std::pair(inf, -inf), std::pair(nan, inf)}) {
    const std::array<float, 2> one{1.0F, first};
    const std::array<float, 2> two{1.0F, other};
    const OutputPair pair{DType::kFloat32, shape, DType::kFloat32, shape};
    const measure::Metrics metrics =
        measure::measure({DType::kFloat32, shape, std::as_bytes(std::span(one))},
                         {DType::kFloat32, shape, std::as_bytes(std::span(two))},
                         measure_options(pair, context_of("exp")));
    EXPECT_FALSE(metrics.identical);
    EXPECT_EQ(judge_tensor(pair, metrics, context_of("exp")).status, Verdict::kError);
  }
}

struct Rung {
  const char* name;
  DType device;
  double cosine, max_abs_error;
  std::uint64_t within_100, within_1000, within_10000;  // of 10000
  Verdict documented, reference;
};

class EveryRung : public ::testing::TestWithParam<Rung> {};

TEST_P(EveryRung, Decides) {
  const Rung& rung = GetParam();
  measure::Metrics metrics;
  metrics.count = 10000;
  metrics.device_abs_max = metrics.bench_abs_max = 1;
  metrics.cosine = rung.cosine;
  metrics.max_abs_error = rung.max_abs_error;
  metrics.within_100 = rung.within_100;
  metrics.within_1000 = rung.within_1000;
  metrics.within_10000 = rung.within_10000;
  const Shapes shapes;
  const OutputPair pair = shapes.pair(DType::kFloat64, rung.device);
  EXPECT_EQ(judge_tensor(pair, metrics, context_of("exp")).status, rung.documented);
  EXPECT_EQ(judge_tensor(pair, metrics, context_of("exp", Profile::kReference)).status,
            rung.reference);
}

constexpr auto kPass = Verdict::kPass;
constexpr auto kWarning = Verdict::kWarning;
constexpr auto kError = Verdict::kError;

INSTANTIATE_TEST_SUITE_P(
    Ladder, EveryRung,
    ::testing::Values(
        Rung{"cosine_at_limit", DType::kFloat32, 0.99, 0, 0, 0, 0, kError, kError},
        Rung{"max_abs_below", DType::kFloat32, 0.991, 0.00099, 0, 0, 0, kPass, kPass},
        Rung{"max_abs_at_limit", DType::kFloat32, 1, 0.001, 0, 9990, 0, kError, kError},
        Rung{"wide_warning", DType::kFloat32, 1, 0.1, 0, 9991, 9999, kWarning, kWarning},
        Rung{"wide_pass", DType::kFloat64, 1, 0.1, 0, 10000, 10000, kPass, kPass},
        Rung{"half_error", DType::kFloat16, 1, 0.1, 9900, 0, 0, kError, kError},
        Rung{"half_warning", DType::kBFloat16, 1, 0.1, 9901, 9990, 0, kWarning, kWarning},
        Rung{"half_pass", DType::kBFloat16, 1, 0.1, 9901, 9991, 0, kPass, kPass},
        Rung{"nan_cosine", DType::kFloat32, kNan, kNan, 0, 10000, 10000, kError, kPass},
        Rung{"float8_falls_through", DType::kFloat8E4M3, 1, 0.1, 0, 0, 0, kPass, kPass}),
    [](const auto& rung) { return rung.param.name; });

TEST(JudgeTensor, OneSidedNanNeverPassesDocumented) {
  const Shapes shapes{.shape = {1}};
  measure::Metrics metrics;
  metrics.count = 1;
  metrics.device_abs_max = kNan;
  metrics.bench_abs_max = 1;
  metrics.max_abs_error = kNan;
  metrics.not_finite = metrics.not_finite_errors = 1;
  const DetailRow row =
      judge_tensor(shapes.pair(DType::kFloat32, DType::kFloat8E5M2), metrics, context_of("exp"));
  EXPECT_EQ(row.status, Verdict::kError);
  EXPECT_THAT(row.message, HasSubstr("on one side only"));
}

TEST(JudgeTensor, ZeroSidesHaveACosineByAgreement) {
  const Shapes shapes;
  const OutputPair pair = shapes.pair(DType::kFloat64, DType::kFloat32);
  measure::Metrics metrics = vector_one();
  metrics.device_abs_max = 0;
  const DetailRow device_zero = judge_tensor(pair, metrics, context_of("exp"));
  EXPECT_EQ(device_zero.status, Verdict::kError);
  EXPECT_EQ(device_zero.cosine.value, 0);
  EXPECT_TRUE(judge_tensor(pair, metrics, context_of("exp", Profile::kReference)).cosine.blank());
  EXPECT_THAT(device_zero.message, HasSubstr("All the data is zero in device dump data."));
  metrics.bench_abs_max = 0;
  metrics.max_abs_error = 0;
  const DetailRow both = judge_tensor(pair, metrics, context_of("exp"));
  EXPECT_EQ(both.status, Verdict::kPass);
  EXPECT_EQ(both.cosine.value, 1);
  EXPECT_EQ(both.message,
            "All the data in device and bench outputs are zero. Max abs error is less than 0.001, "
            "consider as pass.");
}

TEST(JudgeTensor, ReferenceCellsRememberTheirPrecision) {
  const Shapes shapes;
  const auto kind = [&](DType bench, DType device, Profile profile) {
    return judge_tensor(shapes.pair(bench, device), vector_one(), context_of("exp", profile))
        .max_relative_error.kind;
  };
  using Kind = Cell::Kind;
  EXPECT_EQ(kind(DType::kFloat32, DType::kFloat16, Profile::kReference), Kind::kSingle);
  EXPECT_EQ(kind(DType::kFloat16, DType::kFloat16, Profile::kReference), Kind::kHalf);
  EXPECT_EQ(kind(DType::kBFloat16, DType::kBFloat16, Profile::kReference), Kind::kSingle);
  EXPECT_EQ(kind(DType::kFloat64, DType::kFloat32, Profile::kReference), Kind::kDouble);
  EXPECT_EQ(kind(DType::kFloat32, DType::kFloat16, Profile::kDocumented), Kind::kDouble);
}

TEST(JudgeTensor, EmptySetsGiveABareZeroInProfileReference) {
  const Shapes shapes;
  measure::Metrics metrics = vector_one();
  metrics.small = metrics.small_errors = 0;
  metrics.normal = 0;
  const DetailRow row = judge_tensor(shapes.pair(DType::kFloat64, DType::kFloat32), metrics,
                                     context_of("exp", Profile::kReference));
  EXPECT_EQ(row.small_value_error_ratio.kind, Cell::Kind::kInteger);
  EXPECT_EQ(row.max_relative_error.kind, Cell::Kind::kInteger);
  EXPECT_EQ(row.mean_relative_error.kind, Cell::Kind::kInteger);
}

TEST(JudgeTensor, Float64KeepsItsLadderStatusWithoutNewStandard) {
  const Shapes shapes;
  const DetailRow row =
      judge_tensor(shapes.pair(DType::kFloat64, DType::kFloat64), vector_one(), context_of("exp"));
  EXPECT_EQ(row.status, Verdict::kError);
  EXPECT_THAT(row.message,
              ::testing::StartsWith(
                  "The data type torch.float64 is not supported for new precision standard. "));
  EXPECT_TRUE(row.rmse.blank());
}

TEST(JudgeTensor, IntegersAreComparedBitByBit) {
  const Shapes shapes;
  measure::Metrics metrics;
  metrics.count = 4;
  metrics.different = 1;
  const DetailRow row =
      judge_tensor(shapes.pair(DType::kInt64, DType::kInt32), metrics, context_of("argmax"));
  EXPECT_EQ(row.status, Verdict::kError);
  EXPECT_DOUBLE_EQ(row.binary_error_rate.value, 0.25);
  EXPECT_EQ(row.message, "Current int64 data, only perform binary comparison.");
}

TEST(JudgeTensor, QuantizedIntegersMayBeOffByOne) {
  const Shapes shapes;
  measure::Metrics metrics;
  metrics.count = 4;
  metrics.different = 4;
  metrics.max_abs_error = 1;
  const OutputPair pair = shapes.pair(DType::kInt8, DType::kInt8);
  const DetailRow close = judge_tensor(pair, metrics, context_of("npu_dynamic_quant"));
  EXPECT_EQ(close.status, Verdict::kPass);
  EXPECT_EQ(close.message,
            "Quantization type: Max abs error is 1.00, less than or equal to 1, consider as "
            "pass.");
  EXPECT_EQ(close.max_abs_error.value, 1);
  EXPECT_EQ(close.binary_error_rate.value, 1);
  const DetailRow reference =
      judge_tensor(pair, metrics, context_of("npu_dynamic_quant", Profile::kReference));
  EXPECT_EQ(reference.message, close.message + "\n");
  EXPECT_EQ(reference.max_abs_error.kind, Cell::Kind::kInteger);
  EXPECT_TRUE(reference.binary_error_rate.blank());
  metrics.max_abs_error = 3;
  EXPECT_EQ(judge_tensor(pair, metrics, context_of("npu_dynamic_quant")).message,
            "Quantization type: Max abs error is 3.00, greater than 1, consider as error.");
}

TEST(JudgeStructure, NamesWhatDiffers) {
  const Shape wide = {4, 6};
  const Shape tall = {6, 4};
  const OutputPair shapes_differ{DType::kFloat64, wide, DType::kFloat32, tall};
  const auto row = judge_structure(shapes_differ, context_of("exp"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->status, Verdict::kError);
  EXPECT_EQ(row->message,
            "The shape of benchtorch.Size([4, 6]) and nputorch.Size([6, 4]) not equal.");
  EXPECT_EQ(row->shape, "(6, 4)");

  const OutputPair kinds_differ{DType::kInt64, wide, DType::kUInt8, wide};
  EXPECT_EQ(judge_structure(kinds_differ, context_of("exp"))->message,
            "Bench out dtype is int64 but npu output dtype is uint8, cannot compare.");

  const Shape empty = {0, 31};
  const OutputPair nothing{DType::kInt8, empty, DType::kInt8, empty};
  const auto skip = judge_structure(nothing, context_of("exp"));
  EXPECT_EQ(skip->status, Verdict::kSkip);
  EXPECT_EQ(skip->message, "There is not bench calculation result.");
  EXPECT_FALSE(judge_structure({DType::kFloat64, wide, DType::kFloat32, wide}, context_of("exp")));
}

TEST(JudgeStructure, ReferenceRefusesInt16AndComplex) {
  const Shapes shapes;
  for (const DType dtype : {DType::kInt16, DType::kUInt32, DType::kComplex64}) {
    const OutputPair pair = shapes.pair(dtype, dtype);
    EXPECT_FALSE(judge_structure(pair, context_of("exp"))) << name(dtype);
    ASSERT_TRUE(judge_structure(pair, context_of("exp", Profile::kReference))) << name(dtype);
  }
}

TEST(JudgeValue, BuiltInsPassWhenEqual) {
  const Context context = context_of("item");
  const DetailRow same = judge_value(std::int64_t{3}, std::int64_t{3}, context);
  EXPECT_EQ(same.status, Verdict::kPass);
  EXPECT_EQ(same.bench_dtype, "<class 'int'>");
  EXPECT_EQ(same.binary_error_rate.kind, Cell::Kind::kDouble);
  EXPECT_THAT(same.message, IsEmpty());
  const DetailRow differs = judge_value(std::int64_t{3}, std::int64_t{4}, context);
  EXPECT_EQ(differs.status, Verdict::kError);
  EXPECT_EQ(differs.binary_error_rate.value, 1);
  EXPECT_TRUE(judge_value(std::int64_t{3}, std::int64_t{4}, context_of("item", Profile::kReference))
                  .binary_error_rate.blank());
  EXPECT_EQ(differs.message, "The values differ, consider as error.");
  EXPECT_EQ(judge_value(kNan, kNan, context).status, Verdict::kPass);
  EXPECT_EQ(judge_value(kNan, kNan, context_of("item", Profile::kReference)).status,
            Verdict::kError);
  EXPECT_EQ(judge_value(std::int64_t{3}, 3.0, context).message,
            "bench and npu output type is different.");
  EXPECT_EQ(judge_value(true, std::int64_t{1}, context).status, Verdict::kPass);
}

TEST(JudgeValue, NoneIsSkippedAndTheRestIsUnexpected) {
  const Context context = context_of("f");
  const DetailRow none = judge_value(PythonValue{}, PythonValue{}, context);
  EXPECT_EQ(none.status, Verdict::kSkip);
  EXPECT_EQ(none.message, "Bench output is None, skip this test.");
  EXPECT_EQ(none.bench_dtype, " ");
  const PythonValue list = OtherValue{"<class 'list'>"};
  EXPECT_EQ(judge_value(list, list, context).message,
            "Unexpected output type in compare_core: <class 'list'>");
}

TEST(ShapeText, ReadsLikeAPythonTuple) {
  EXPECT_EQ(shape_text(Shape{}), "()");
  EXPECT_EQ(shape_text(Shape{3}), "(3,)");
  EXPECT_EQ(shape_text(Shape{2, 3}), "(2, 3)");
}

}  // namespace
}  // namespace msprobe::documented
