// SPDX-License-Identifier: Apache-2.0
#include "documented/dropout.h"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documented/profiles_for_test.h"

namespace msprobe::documented {
namespace {

struct Floats {
  std::vector<float> values;
  Shape shape;

  Floats(std::size_t count, std::size_t zeros)
      : values(count, 1.5F), shape{static_cast<std::int64_t>(count)} {
    std::fill_n(values.begin(), zeros, -0.0F);
  }
  TensorView view() const { return {DType::kFloat32, shape, std::as_bytes(std::span(values))}; }
};

Verdict judged(const Floats& bench, const Floats& device, const DropoutCall& call,
               Profile profile) {
  const Context context{.row_name = "Functional.dropout.0.forward.output.0",
                        .api = "dropout",
                        .profile = profile,
                        .standards = kBuiltIn};
  return judge_dropout(bench.view(), device.view(), call, context).status;
}

TEST(JudgedByZeros, DocumentedKnowsWhichDropoutsPutZeros) {
  EXPECT_TRUE(judged_by_zeros("dropout", kDocumented));
  EXPECT_TRUE(judged_by_zeros("dropout2d", kDocumented));
  EXPECT_FALSE(judged_by_zeros("alpha_dropout", kDocumented));
  EXPECT_TRUE(judged_by_zeros("alpha_dropout", kReference));
  EXPECT_FALSE(judged_by_zeros("relu", kReference));
}

TEST(JudgeDropout, ReferenceComparesTheSharesOfZeros) {
  EXPECT_EQ(judged({60, 6}, {60, 54}, {}, kReference), Verdict::kPass);
  EXPECT_EQ(judged({200, 20}, {200, 30}, {}, kReference), Verdict::kPass);
  EXPECT_EQ(judged({200, 20}, {200, 50}, {}, kReference), Verdict::kError);
  EXPECT_EQ(judged({1000, 500}, {1000, 590}, {}, kReference), Verdict::kPass);
  EXPECT_EQ(judged({1000, 500}, {1000, 610}, {}, kReference), Verdict::kError);
}

TEST(JudgeDropout, DocumentedWantsTheProbability) {
  const DropoutCall fifth{.p = 0.2};
  EXPECT_EQ(judged({1000, 500}, {1000, 210}, fifth, kDocumented), Verdict::kPass);
  EXPECT_EQ(judged({1000, 500}, {1000, 500}, fifth, kDocumented), Verdict::kError);
  EXPECT_EQ(judged({1000, 500}, {1000, 0}, {.p = 0.2}, kDocumented), Verdict::kError);
  EXPECT_EQ(judged({1000, 500}, {1000, 590}, {}, kDocumented), Verdict::kPass);
}

TEST(JudgeDropout, ZerosOfTheInputAreNotDrops) {
  EXPECT_EQ(judged({1000, 600}, {1000, 600}, {.p = 0.2, .input_zeros = 0.5}, kDocumented),
            Verdict::kPass);
  EXPECT_EQ(judged({1000, 600}, {1000, 600}, {.p = 0.2}, kDocumented), Verdict::kError);
}

TEST(JudgeDropout, FewDrawsRaiseNoAlarm) {
  EXPECT_EQ(judged({10, 5}, {10, 9}, {.p = 0.5}, kDocumented), Verdict::kPass);
  EXPECT_EQ(judged({8000, 4000}, {8000, 6000}, {.p = 0.5, .draws = 8}, kDocumented),
            Verdict::kPass);
  EXPECT_EQ(judged({8000, 4000}, {8000, 6000}, {.p = 0.5}, kDocumented), Verdict::kError);
}

TEST(JudgeDropout, NanNeverPassesDocumented) {
  Floats device(1000, 500);
  device.values.back() = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(judged({1000, 500}, device, {.p = 0.5}, kDocumented), Verdict::kError);
}

}  // namespace
}  // namespace msprobe::documented
