// SPDX-License-Identifier: Apache-2.0
#include "probe/device_sums.h"

#include <gtest/gtest.h>

#include "units/unit.h"

namespace msprobe::probe {
namespace {

using units::Cut;
using units::Unit;

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kBFloat16, at::kHalf};

TEST(DeviceSums, OfTheCpuAreRounded) {
  EXPECT_EQ(probe_sums(at::kCPU, at::kFloat), DeviceSums::kRounded);
  EXPECT_EQ(lazy_sums(at::kCPU)(at::kFloat), DeviceSums::kRounded);
}

TEST(DeviceSums, OfADeviceThatCannotMultiplyAreUnknown) {
  EXPECT_EQ(probe_sums(at::Device(at::kMeta), at::kFloat), DeviceSums::kUnknown);
}

TEST(DeviceSums, TheQuestionIsExactInEveryType) {
  const Question asked = question();
  for (const at::ScalarType type : kTypes) {
    for (const at::Tensor& factor : {asked.left, asked.right}) {
      EXPECT_TRUE(factor.to(type).to(at::kDouble).equal(factor)) << type;
    }
  }
  EXPECT_TRUE(at::matmul(asked.left, asked.right).equal(asked.rest));
}

Drift drift(const Unit& unit, at::ScalarType type) {
  const Question asked = question();
  const at::Tensor left = asked.left.to(at::kFloat).contiguous();
  const at::Tensor right = asked.right.to(at::kFloat).contiguous();
  at::Tensor out = at::empty({left.size(0), right.size(1)});
  units::product(unit, {left.size(0), left.size(1), right.size(1)}, left.data_ptr<float>(),
                 right.data_ptr<float>(), out.data_ptr<float>());
  return drift_of(asked, out.to(type));
}

TEST(DeviceSums, DriftByWhatIsCut) {
  for (const at::ScalarType type : kTypes) {
    for (const int bits : {23, 24, 25}) {
      for (const int block : {1, 4, 32}) {
        const Unit toward_zero{.block = block, .bits = bits};
        EXPECT_GT(drift(toward_zero, type).usual, 0.02);
        EXPECT_LT(drift(toward_zero, type).largest, 2);
        const Unit down{.block = block, .bits = bits, .cut = Cut::kDown, .sum = Cut::kDown};
        EXPECT_GT(drift(down, type).usual, 0.02);
        EXPECT_LT(drift(down, type).largest, 2);
        const Unit nearest{
            .block = block, .bits = bits, .cut = Cut::kNearest, .sum = Cut::kNearest};
        EXPECT_LT(drift(nearest, type).usual, 0.001);
      }
    }
  }
}

// Sums of 16 bits are farther off, in both directions.
TEST(DeviceSums, CoarseSumsAreNoUnit) {
  const Question asked = question();
  at::Tensor sum = at::zeros_like(asked.rest);
  for (std::int64_t k = 0; k < asked.left.size(1); ++k) {
    sum += at::matmul(asked.left.narrow(1, k, 1), asked.right.narrow(0, k, 1));
    sum = sum.to(at::kHalf).to(at::kDouble);
  }
  EXPECT_GT(drift_of(asked, sum).largest, 2);
}

TEST(DeviceSums, NotANumberIsNoDrift) {
  const Question asked = question();
  const at::Tensor answer = at::full_like(asked.rest, std::nan(""));
  EXPECT_FALSE(drift_of(asked, answer).largest <= 2);
}

}  // namespace
}  // namespace msprobe::probe
