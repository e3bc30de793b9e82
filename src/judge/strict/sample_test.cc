// SPDX-License-Identifier: Apache-2.0
#include "strict/sample.h"

#include <gtest/gtest.h>

namespace msprobe::strict {
namespace {

// An element of the sample is the sum of its own terms.
TEST(Sample, FactorsAreThoseOfItsElements) {
  for (const auto& [left, right] : {std::pair{at::rand({37, 5}), at::rand({5, 41})},
                                    {at::rand({3, 37, 5}), at::rand({3, 5, 41})},
                                    {at::rand({37, 5}), at::rand({3, 5, 41})}}) {
    const at::Tensor result = at::matmul(left, right);
    for (const std::int64_t elements : {1, 10, 100, 1000, 100000}) {
      const Sample sample = sample_of({left, right, {}}, elements);
      EXPECT_TRUE(at::allclose(sample.of(result), at::matmul(sample.left, sample.right)))
          << elements << " of " << result.numel();
    }
  }
}

TEST(Sample, HasTheFirstTermsOnly) {
  const Product product{at::rand({37, 5}), at::rand({5, 41}), {}};
  const Sample all = sample_of(product, 100);
  const Sample some = sample_of(product, 100, 3);
  EXPECT_TRUE(some.left.equal(all.left.narrow(-1, 0, 3)));
  EXPECT_TRUE(some.right.equal(all.right.narrow(-2, 0, 3)));
}

}  // namespace
}  // namespace msprobe::strict
