// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_by_formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strict/calls_for_test.h"

namespace msprobe::strict {
namespace {

using testing::HasSubstr;

dump::TensorRecord codes(Shape shape) {
  return tensor(std::move(shape), DType::kInt8, false, -127, 127);
}

RunCall quant_matmul(std::int64_t inner) {
  return RunCall(call("NPU.npu_quant_matmul.0",
                      {{codes({5, inner})},
                       {codes({inner, 16})},
                       {tensor({16}, DType::kFloat32, false, 0.001, 0.01)}},
                      {{"pertoken_scale", {tensor({5}, DType::kFloat32, false, 0.5, 2)}},
                       {"output_dtype", {std::int64_t{15}}}}));
}

at::Tensor device(const RunCall& run, std::size_t output = 0) {
  return run.outcome.forward[output].device.as<at::Tensor>()->clone();
}

StrictFinding judged(RunCall& run, const at::Tensor& given, std::size_t output = 0) {
  run.outcome.forward[output].device = {given};
  run.outcome.forward[output].identical = false;
  return judge_call(run.record, run.options, run.outcome).forward[output];
}

TEST(JudgeByFormula, ARightProductOfCodesPasses) {
  for (const std::int64_t inner : {1, 191, 192, 193}) {
    RunCall run = quant_matmul(inner);
    EXPECT_TRUE(is_right(judged(run, device(run)))) << inner;
  }
}

TEST(JudgeByFormula, OneRoundingTooManyIsSeen) {
  RunCall run = quant_matmul(192);
  at::Tensor given = device(run);
  given[3][7] = given[3][7] * (1 + 1.0 / 64);
  const StrictFinding finding = judged(run, given);
  EXPECT_EQ(finding.status, Verdict::kError);
  EXPECT_THAT(finding.reason, HasSubstr("1 of 80 elements"));
  EXPECT_GT(*finding.error_over_bound, 1);
}

TEST(JudgeByFormula, ExchangedRowsAreNamed) {
  RunCall run = quant_matmul(192);
  const at::Tensor given = device(run).index_select(0, at::tensor({0, 3, 2, 1, 4}, at::kLong));
  EXPECT_EQ(judged(run, given).cause, "two rows are exchanged");
}

TEST(JudgeByFormula, CodesMayDifferAtTiesOnly) {
  RunCall run(call("NPU.npu_dynamic_quant.0", {{tensor({7, 193}, DType::kBFloat16)}}));
  EXPECT_TRUE(is_right(judged(run, device(run))));
  at::Tensor given = device(run);
  given[2] = at::where(given[2].eq(127), given[2], given[2] + 1);
  const StrictFinding finding = judged(run, given);
  EXPECT_EQ(finding.status, Verdict::kError);
  EXPECT_EQ(finding.cause, "1 of 7 rows are wrong");
}

TEST(JudgeByFormula, AScaleOfAnotherRowIsSeen) {
  RunCall run(call("NPU.npu_dynamic_quant.0", {{tensor({7, 193}, DType::kBFloat16)}}));
  EXPECT_EQ(judged(run, device(run, 1).roll(1, 0), 1).status, Verdict::kError);
}

constexpr char kRmsNormQuant[] = "NPU.npu_rms_norm_quant";

RunCall rms_norm_quant(double scale) {
  const dump::TensorRecord x = tensor({4, 64}, DType::kFloat16);
  const dump::TensorRecord row = tensor({64}, DType::kFloat16, false, 0.5, 1);
  return RunCall(
      call(std::string(kRmsNormQuant) + ".0", {{x},
                                               {row},
                                               {row},
                                               {tensor({1}, DType::kFloat16, false, scale, scale)},
                                               {tensor({1}, DType::kInt8, false, 0, 0)}}));
}

at::Tensor by_reading(const RunCall& run, std::size_t reading) {
  return execute::npu::expected_results(*execute::npu::find_formula(kRmsNormQuant),
                                        run.outcome.arguments.call,
                                        {.bounds = false, .reading = reading})[0]
      .value;
}

// The vendor's documents contradict each other: both readings pass, and the reason names which one
// fits.
TEST(JudgeByFormula, BothReadingsAreRightAndTheOneThatFitsIsNamed) {
  RunCall run = rms_norm_quant(8);
  for (const std::size_t reading : {0U, 1U}) {
    const StrictFinding finding = judged(run, by_reading(run, reading));
    EXPECT_TRUE(is_right(finding)) << reading;
    EXPECT_THAT(finding.reason, HasSubstr(reading == 0 ? "divides" : "multiplies"));
  }
}

TEST(JudgeByFormula, WhereEveryReadingFitsNoneIsNamed) {
  RunCall run = rms_norm_quant(1);
  EXPECT_EQ(judged(run, by_reading(run, 0)).reason, "equal");
}

}  // namespace
}  // namespace msprobe::strict
