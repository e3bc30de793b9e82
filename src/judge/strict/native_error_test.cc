// SPDX-License-Identifier: Apache-2.0
#include "strict/native_error.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "strict/bound.h"

namespace msprobe::strict {
namespace {

TEST(NativeErrors, TellOverflowsFromOtherNumbers) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> given = {1.5, kFar, -kFar, kNone, kNone, kFar, 2, 3, 4};
  const std::vector<double> right = {1.25, 40000, -40000, 40000, 1, 1, kNone, kFar, 4};
  const std::vector<double> wanted = {0.25, kFar, kFar, kNone, 0, 0, 0, 0, 0};
  for (const at::ScalarType type : {at::kHalf, at::kFloat}) {
    const FloatType half = *float_type(at::kHalf);
    const at::Tensor found = native_errors(at::tensor(given, at::kDouble).to(type),
                                           at::tensor(right, at::kDouble), half);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double error = found[static_cast<std::int64_t>(i)].item<double>();
      EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(error) : error == wanted[i]) << i;
    }
  }
}

TEST(UsualSpreads, AreTheRootOfTheMeanSquareOfElementsOfOneSize) {
  const double infinity = std::numeric_limits<double>::infinity();
  const at::Tensor bench =
      at::tensor(std::vector<double>{1, 1.5, -1.9, 4, -5, 0, 0, infinity}, at::kDouble);
  const at::Tensor spreads = at::tensor(std::vector<double>{1, 2, 0, 3, 1, 2, 0, 7}, at::kDouble);
  const double of_one = std::sqrt(5.0 / 3);
  const at::Tensor wanted =
      at::tensor({of_one, 2.0, of_one, 3.0, std::sqrt(5.0), 2.0, std::sqrt(2.0), 7.0}, at::kDouble);
  EXPECT_TRUE(at::allclose(usual_spreads(spreads, bench), wanted, 1e-15, 0));
}

}  // namespace
}  // namespace msprobe::strict
