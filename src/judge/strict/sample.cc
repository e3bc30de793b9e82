// SPDX-License-Identifier: Apache-2.0
#include "strict/sample.h"

#include <algorithm>
#include <cmath>

namespace msprobe::strict {
namespace {

at::Tensor every(const at::Tensor& all, std::int64_t dim, std::int64_t step) {
  return all.slice(dim, 0, all.size(dim), step);
}

}  // namespace

at::Tensor Sample::of(const at::Tensor& all) const {
  return every(every(all.reshape(shape), -2, row_step), -1, column_step);
}

Sample sample_of(const Product& product, std::int64_t elements) {
  return sample_of(product, elements, product.left.size(-1));
}

Sample sample_of(const Product& product, std::int64_t elements, std::int64_t terms) {
  Sample sample;
  sample.shape = shape_of(product);
  const std::int64_t times = (c10::multiply_integers(sample.shape) + elements - 1) / elements;
  const auto root = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(times))));
  // Odd: what is true of every other row, or of one in eight, is not true of all of these.
  const auto step = [](std::int64_t wanted, std::int64_t extent) {
    return (std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, extent)) - 1) | 1;
  };
  sample.row_step = step(root, product.left.size(-2));
  const std::int64_t rest = (times + sample.row_step - 1) / sample.row_step;
  sample.column_step = step(rest, product.right.size(-1));
  sample.left = every(product.left, -2, sample.row_step).narrow(-1, 0, terms);
  sample.right = every(product.right.first_terms(terms), -1, sample.column_step);
  return sample;
}

}  // namespace msprobe::strict
