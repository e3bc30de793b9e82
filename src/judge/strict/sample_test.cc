// SPDX-License-Identifier: Apache-2.0
#include "strict/sample.h"

#include <gtest/gtest.h>

namespace msprobe::strict {
namespace {

Product product_of_ones(at::IntArrayRef left, at::IntArrayRef right) {
  return {at::ones(left), at::ones(right), {}};
}

TEST(Sample, PlacesAreWhereItsElementsAre) {
  for (const Product& product :
       {product_of_ones({37, 5}, {5, 41}), product_of_ones({3, 37, 5}, {3, 5, 41}),
        product_of_ones({37, 5}, {3, 5, 41})}) {
    const at::Tensor numbers = at::arange(c10::multiply_integers(shape_of(product)), at::kLong);
    for (const std::int64_t elements : {1, 10, 100, 1000, 100000}) {
      const Sample sample = sample_of(product, elements);
      const at::Tensor wanted = sample.of(numbers).flatten();
      EXPECT_TRUE(sample.places_of(at::arange(wanted.numel(), at::kLong)).equal(wanted))
          << elements << " of " << numbers.numel();
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
