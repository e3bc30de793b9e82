// SPDX-License-Identifier: Apache-2.0
// The whole way, with an engine, is in tests/predict_check.py.
#include "predict/predict_call.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "identify/numbers.h"

namespace msprobe::predict {
namespace {

Numbers numbers(std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return identify::make_numbers(DType::kFloat32, {count}, values);
}

TEST(PredictionAgreement, IsOfBits) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Result<EqualElements> found =
      agreement(numbers({1, 2, 0.0, kNan, 5}), numbers({1, 2.5, -0.0, -kNan, 5}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->elements, 5U);
  EXPECT_EQ(found->equal, 3U) << "0 and -0 differ, two NaN do not";
}

TEST(PredictionAgreement, NeedsOneShape) {
  EXPECT_FALSE(agreement(numbers({1, 2}), numbers({1, 2, 3})));
}

}  // namespace
}  // namespace msprobe::predict
