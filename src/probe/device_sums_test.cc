// SPDX-License-Identifier: Apache-2.0
#include "probe/device_sums.h"

#include <gtest/gtest.h>

#include "units/unit.h"

namespace msprobe::probe {
namespace {

using units::Cut;
using units::Unit;

TEST(DeviceSums, OfTheCpuAreRounded) {
  EXPECT_EQ(probe_sums(at::kCPU), DeviceSums::kRounded);
  EXPECT_EQ(lazy_sums(at::kCPU)(), DeviceSums::kRounded);
}

TEST(DeviceSums, OfADeviceThatCannotMultiplyAreUnknown) {
  EXPECT_EQ(probe_sums(at::Device(at::kMeta)), DeviceSums::kUnknown);
}

double drift(const Unit& unit, double sign) {
  constexpr std::int64_t kTerms = 2048;
  const at::Tensor left = at::rand({8, kTerms}) + 1;
  const at::Tensor right = (at::rand({kTerms, 8}) + 1) * sign;
  at::Tensor out = at::empty({8, 8});
  units::product(unit, {8, kTerms, 8}, left.data_ptr<float>(), right.data_ptr<float>(),
                 out.data_ptr<float>());
  return drift_of(out.to(at::kDouble), at::matmul(left.to(at::kDouble), right.to(at::kDouble)),
                  kTerms);
}

TEST(DeviceSums, DriftTowardZeroOrDownByWhatIsCut) {
  for (const int bits : {23, 24, 25}) {
    for (const int block : {1, 4, 32}) {
      const Unit toward_zero{.block = block, .bits = bits};
      EXPECT_LT(drift(toward_zero, 1), -0.1);
      EXPECT_GT(drift(toward_zero, -1), 0.1);
      const Unit down{.block = block, .bits = bits, .cut = Cut::kDown, .sum = Cut::kDown};
      EXPECT_LT(drift(down, 1), -0.1);
      EXPECT_LT(drift(down, -1), -0.1);
      EXPECT_GT(drift(down, 1), -2);
      const Unit nearest{.block = block, .bits = bits, .cut = Cut::kNearest, .sum = Cut::kNearest};
      EXPECT_NEAR(drift(nearest, 1), 0, 0.03);
    }
  }
}

}  // namespace
}  // namespace msprobe::probe
