// SPDX-License-Identifier: Apache-2.0
#include "strict/right_factor.h"

#include <functional>

#include <gtest/gtest.h>

namespace msprobe::strict {
namespace {

// A part that is asked for is that of the whole, before the whole is copied and after.
void expect_parts_of_the_whole(const std::function<RightFactor()>& make, at::IntArrayRef shape) {
  const RightFactor copied = make();
  const at::Tensor all = copied.all();
  EXPECT_EQ(all.sizes(), shape);
  EXPECT_TRUE(copied.is_copied());
  const RightFactor fresh = make();
  EXPECT_EQ(at::IntArrayRef(fresh.sizes()), shape);
  EXPECT_EQ(fresh.size(-1), shape.back());
  EXPECT_EQ(fresh.dim(), static_cast<std::int64_t>(shape.size()));
  for (const RightFactor& factor : {fresh, copied}) {
    for (std::int64_t count = 1; count <= all.size(-2); ++count) {
      EXPECT_TRUE(factor.first_terms(count).equal(all.narrow(-2, 0, count))) << count;
    }
  }
  const at::Tensor columns =
      at::tensor(std::vector<std::int64_t>{3, 0, all.size(-1) - 1}, at::kLong);
  const at::Tensor matrices = at::tensor(std::vector<std::int64_t>{0, 1, 1}, at::kLong);
  const at::Tensor wanted =
      all.dim() == 2 ? all.t().index({columns}) : all.mT().index({matrices, columns});
  for (const RightFactor& factor : {make(), copied}) {
    EXPECT_TRUE(factor.columns_at(matrices, columns).equal(wanted));
  }
}

TEST(RightFactor, PartsAreThoseOfTheWhole) {
  const at::Tensor images = at::rand({2, 3, 6, 7});
  // Kernels of 2 x 3 that see every place: (sample, channel, kernel, place).
  const auto seen = [&] {
    return images.unfold(2, 2, 1).unfold(3, 3, 1).permute({0, 1, 4, 5, 2, 3});
  };
  expect_parts_of_the_whole([&] { return RightFactor::of_places(seen()); }, {2, 18, 25});
  expect_parts_of_the_whole(
      [&] { return RightFactor::of_weights(seen().permute({1, 2, 3, 0, 4, 5})); }, {50, 18});
  expect_parts_of_the_whole([&] { return RightFactor(images.select(0, 0).select(0, 0)); }, {6, 7});
}

}  // namespace
}  // namespace msprobe::strict
