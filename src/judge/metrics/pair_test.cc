// SPDX-License-Identifier: Apache-2.0
#include "metrics/pair.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::metrics {
namespace {

constexpr std::array<std::int64_t, 1> kThree = {3};
constexpr std::array<std::int64_t, 2> kOneByThree = {1, 3};
constexpr std::array<float, 3> kBench = {1, 2, 4};
constexpr std::array<float, 3> kDevice = {1, 2, 8};

TensorView view(const std::array<float, 3>& values, std::span<const std::int64_t> shape = kThree) {
  return {DType::kFloat32, shape, std::as_bytes(std::span(values))};
}

TEST(EvaluatePair, AFullNameAndABareOneChooseTheSameStandard) {
  const documented::Standards standards;
  const Evaluation full = evaluate(view(kBench), view(kDevice), {.api = "Torch.mul.3"}, standards);
  const Evaluation bare = evaluate(view(kBench), view(kDevice), {.api = "mul"}, standards);
  EXPECT_EQ(full.row.status, bare.row.status);
  EXPECT_EQ(to_json(full, documented::Profile::kDocumented),
            to_json(bare, documented::Profile::kDocumented));
}

TEST(EvaluatePair, EqualTensorsPass) {
  const Evaluation answer = evaluate(view(kBench), view(kBench), {}, {});
  EXPECT_EQ(answer.row.status, Verdict::kPass);
  ASSERT_TRUE(answer.metrics);
  EXPECT_EQ(answer.metrics->max_abs_error, 0);
}

TEST(EvaluatePair, OtherShapesAreNotMeasured) {
  const Evaluation answer = evaluate(view(kBench), view(kBench, kOneByThree), {}, {});
  EXPECT_EQ(answer.row.status, Verdict::kError);
  EXPECT_FALSE(answer.metrics);
}

TEST(PairLines, BeginWithTheDtypesAndEndWithTheStatus) {
  const Evaluation answer = evaluate(view(kBench), view(kDevice), {}, {});
  const std::vector<TitledValue> lines = to_titled_values(answer, documented::Profile::kDocumented);
  EXPECT_EQ(lines.front().title, "Bench dtype");
  EXPECT_EQ(lines.back().title, "Status");
  EXPECT_THAT(lines, testing::Contains(testing::AllOf(
                         testing::Field(&TitledValue::title, "Maximum absolute error"),
                         testing::Field(&TitledValue::value, "4"))));
}

}  // namespace
}  // namespace msprobe::metrics
