// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/ratio.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace msprobe::final_verdict {
namespace {

constexpr auto kDocumented = documented::Profile::kDocumented;
constexpr auto kReference = documented::Profile::kReference;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Finite = Ratio::Finite;

// A vector with known answers: divisors below, at and above the floor.
TEST(Ratio, ReferenceRaisesTheDivisorToAFloor) {
  EXPECT_DOUBLE_EQ(ratio(0.001, 0, DType::kFloat16, kReference).value, 2.048);
  EXPECT_DOUBLE_EQ(ratio(3e-4, 1e-4, DType::kFloat32, kReference).value, 3.0);
  EXPECT_DOUBLE_EQ(ratio(0.003, 0, DType::kBFloat16, kReference).value, 0.768);
}

TEST(Ratio, DocumentedIsPlain) {
  EXPECT_EQ(ratio(0.001, 0, DType::kFloat16, kDocumented).value, kInf);
  EXPECT_DOUBLE_EQ(ratio(3e-4, 1e-4, DType::kFloat32, kDocumented).value, 3.0);
  EXPECT_EQ(ratio(0.003, 0, DType::kBFloat16, kDocumented).value, 1);
  EXPECT_EQ(ratio(0, 0, DType::kFloat32, kDocumented).value, 1);
  EXPECT_EQ(ratio(0x1p-23, 0, DType::kFloat32, kDocumented).value, 1);
  EXPECT_EQ(ratio(0x1p-22, 0, DType::kFloat32, kDocumented).value, kInf);
  EXPECT_EQ(ratio(-4, 2, DType::kFloat32, kDocumented).value, 2);
}

TEST(Ratio, NotFiniteSidesMustBeAlike) {
  for (const documented::Profile profile : {kDocumented, kReference}) {
    EXPECT_EQ(ratio(kNan, kNan, DType::kFloat32, profile).finite, Finite::kSame);
    EXPECT_EQ(ratio(kInf, kInf, DType::kFloat32, profile).finite, Finite::kSame);
    EXPECT_EQ(ratio(kInf, -kInf, DType::kFloat32, profile).finite, Finite::kDiffers);
    EXPECT_EQ(ratio(kNan, 1, DType::kFloat32, profile).finite, Finite::kDiffers);
    EXPECT_EQ(ratio(1, kInf, DType::kFloat32, profile).finite, Finite::kDiffers);
    EXPECT_EQ(ratio(kNan, kInf, DType::kFloat32, profile).finite, Finite::kDiffers);
    EXPECT_TRUE(std::isnan(ratio(kInf, kInf, DType::kFloat32, profile).value));
  }
}

}  // namespace
}  // namespace msprobe::final_verdict
