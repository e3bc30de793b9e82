// SPDX-License-Identifier: Apache-2.0
#include "sim/unit_product.h"

#include <gtest/gtest.h>

namespace msprobe::sim {
namespace {

// Close to the true product, and not the CPU's float32 bit for bit.
TEST(UnitProduct, ErrsAsAUnitDoes) {
  at::manual_seed(1);
  const at::Tensor left = at::rand({3, 5, 4096});
  const at::Tensor right = at::rand({3, 4096, 6});
  const at::Tensor right_sum = at::bmm(left.to(at::kDouble), right.to(at::kDouble));
  for (const ProfileRow& row : profiles()) {
    if (row.profile != SimProfile::kMatrixUnit || row.unit.inputs != units::Inputs::kAsTheyAre) {
      continue;
    }
    const at::Tensor sum = unit_matmul(row.unit, left, right);
    EXPECT_EQ(sum.sizes(), right_sum.sizes());
    const at::Tensor error = (sum - right_sum) / right_sum;
    EXPECT_LT(error.abs().max().item<double>(), 1e-3) << row.name;
    EXPECT_GT(error.abs().max().item<double>(), 0) << row.name;
    if (row.unit.sum == units::Cut::kTowardZero) {
      EXPECT_LT(error.mean().item<double>(), -1e-6) << row.name;
    }
  }
}

TEST(UnitProduct, HasTheNamedProfiles) {
  std::size_t units = 0;
  for (const ProfileRow& row : profiles()) units += row.profile == SimProfile::kMatrixUnit ? 1 : 0;
  EXPECT_GE(units, 12U);
}

}  // namespace
}  // namespace msprobe::sim
