#include "judge/judge.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::judge {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const Standards kBuiltIn;

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

// Check vector V1 of the specification: device float32, bench float64.
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
  EXPECT_EQ(row.message,
            "\nRelative error is greater than 0.001, consider as error, skip other check and set "
            "to SPACE.\n");
  EXPECT_TRUE(row.dual_100.blank());
  EXPECT_DOUBLE_EQ(row.dual_1000.value, 0.6);
  EXPECT_DOUBLE_EQ(row.dual_10000.value, 0.6);
  EXPECT_DOUBLE_EQ(row.small_value_error_ratio.value, 0.5);
  EXPECT_EQ(row.shape, "(5,)");
  EXPECT_EQ(row.bench_dtype, "torch.float64");
  EXPECT_EQ(row.device_dtype, "torch.float32");
}

TEST(JudgeTensor, FillsOnlyTheColumnsOfTheChosenStandard) {
  const Shapes shapes;
  const OutputPair pair = shapes.pair(DType::kFloat64, DType::kFloat32);
  const DetailRow absolute = judge_tensor(pair, vector_one(), context_of("add"));
  EXPECT_DOUBLE_EQ(absolute.relative_error_rate.value, 1.0 / 3);
  EXPECT_DOUBLE_EQ(absolute.absolute_error_rate.value, 0.5);
  EXPECT_TRUE(absolute.rmse.blank());
  const DetailRow ulp = judge_tensor(pair, vector_one(), context_of("matmul"));
  EXPECT_DOUBLE_EQ(ulp.mean_ulp_error.value, 1680998.4);
  EXPECT_DOUBLE_EQ(ulp.ulp_error_proportion.value, 0.4);
  EXPECT_TRUE(ulp.relative_error_rate.blank());
  const DetailRow reference =
      judge_tensor(pair, vector_one(), context_of("matmul", Profile::kReference));
  EXPECT_TRUE(reference.mean_ulp_error.blank());
  EXPECT_FALSE(reference.rmse.blank());
}

TEST(JudgeTensor, Dual1000IsFilledEvenWhenTheLadderStopsBefore) {
  const Shapes shapes;
  measure::Metrics metrics = vector_one();
  metrics.max_abs_error = 0.0001;
  const DetailRow row =
      judge_tensor(shapes.pair(DType::kFloat32, DType::kFloat16), metrics, context_of("conv2d"));
  EXPECT_EQ(row.status, Verdict::kPass);
  EXPECT_DOUBLE_EQ(row.dual_1000.value, 0.6);
  EXPECT_TRUE(row.dual_100.blank());
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

TEST(JudgeTensor, ZeroSidesAndScalarsHaveNoCosine) {
  const Shapes shapes;
  const OutputPair pair = shapes.pair(DType::kFloat64, DType::kFloat32);
  measure::Metrics metrics = vector_one();
  metrics.device_abs_max = 0;
  const DetailRow device_zero = judge_tensor(pair, metrics, context_of("exp"));
  EXPECT_EQ(device_zero.status, Verdict::kError);
  EXPECT_TRUE(device_zero.cosine.blank());
  EXPECT_THAT(device_zero.message, HasSubstr("All the data is zero in device dump data."));
  metrics.bench_abs_max = 0;
  metrics.max_abs_error = 0;
  const DetailRow both = judge_tensor(pair, metrics, context_of("exp"));
  EXPECT_EQ(both.status, Verdict::kPass);
  EXPECT_THAT(both.message, HasSubstr("All the data in device and bench outputs are zero.\n"));
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

TEST(JudgeTensor, EmptySetsGiveABareZero) {
  const Shapes shapes;
  measure::Metrics metrics = vector_one();
  metrics.small = metrics.small_errors = 0;
  metrics.normal = 0;
  const DetailRow row =
      judge_tensor(shapes.pair(DType::kFloat64, DType::kFloat32), metrics, context_of("exp"));
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
                  "The data type torch.float64 is not supported for new precision standard.\n"));
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
            "pass.\n");
  EXPECT_EQ(close.max_abs_error.kind, Cell::Kind::kInteger);
  EXPECT_TRUE(close.binary_error_rate.blank());
  metrics.max_abs_error = 3;
  EXPECT_EQ(judge_tensor(pair, metrics, context_of("npu_dynamic_quant")).message,
            "Quantization type: Max abs error is 3.00, greater than 1, consider as error.\n");
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
  EXPECT_EQ(same.binary_error_rate.kind, Cell::Kind::kInteger);
  EXPECT_THAT(same.message, IsEmpty());
  const DetailRow differs = judge_value(std::int64_t{3}, std::int64_t{4}, context);
  EXPECT_EQ(differs.status, Verdict::kError);
  EXPECT_EQ(differs.binary_error_rate.value, 1);
  EXPECT_TRUE(judge_value(std::int64_t{3}, std::int64_t{4}, context_of("item", Profile::kReference))
                  .binary_error_rate.blank());
  EXPECT_EQ(judge_value(kNan, kNan, context).status, Verdict::kError);
  EXPECT_EQ(judge_value(std::int64_t{3}, 3.0, context).message,
            "bench and npu output type is different.");
  EXPECT_EQ(judge_value(true, std::int64_t{1}, context).status, Verdict::kPass);
}

TEST(JudgeValue, NoneIsSkippedAndTheRestIsUnexpected) {
  const Context context = context_of("f");
  const DetailRow none = judge_value(Value{}, Value{}, context);
  EXPECT_EQ(none.status, Verdict::kSkip);
  EXPECT_EQ(none.message, "Bench output is None, skip this test.");
  EXPECT_EQ(none.bench_dtype, " ");
  const Value list = OtherValue{"<class 'list'>"};
  EXPECT_EQ(judge_value(list, list, context).message,
            "Unexpected output type in compare_core: <class 'list'>");
}

TEST(ShapeText, ReadsLikeAPythonTuple) {
  EXPECT_EQ(shape_text(Shape{}), "()");
  EXPECT_EQ(shape_text(Shape{3}), "(3,)");
  EXPECT_EQ(shape_text(Shape{2, 3}), "(2, 3)");
}

}  // namespace
}  // namespace msprobe::judge
