// SPDX-License-Identifier: Apache-2.0
// The right factor of a product: its terms and columns.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "libtorch/aten.h"

namespace msprobe::strict {

// A matrix or several; or what a convolution sees of its images. There, each number is copied once
// for every place of the kernel that sees it, so only the terms are copied that are asked for.
class RightFactor {
 public:
  RightFactor() = default;
  RightFactor(at::Tensor matrices)  // NOLINT(google-explicit-constructor): matrices are one
      : all_(std::move(matrices)) {}

  // `seen`: (sample, three extents of terms, two of columns). A matrix for every sample.
  static RightFactor of_places(at::Tensor seen) { return {std::move(seen), /*turned=*/false}; }
  // `seen`: (three extents of columns, three of terms). One matrix.
  static RightFactor of_weights(at::Tensor seen) { return {std::move(seen), /*turned=*/true}; }

  // As at::Tensor's of all().
  std::vector<std::int64_t> sizes() const;
  std::int64_t size(int dim) const;
  std::int64_t dim() const { return static_cast<std::int64_t>(sizes().size()); }
  at::ScalarType scalar_type() const;

  // (..., terms, columns). Copied once.
  const at::Tensor& all() const;
  // all().narrow(-2, 0, count).
  at::Tensor first_terms(std::int64_t count) const;
  // Single columns, one a row of the result. `matrices`: of each, which matrix it is in; not looked
  // at if there is one matrix.
  at::Tensor columns_at(const at::Tensor& matrices, const at::Tensor& columns) const;
  bool is_copied() const { return all_.defined(); }

 private:
  RightFactor(at::Tensor seen, bool turned) : seen_(std::move(seen)), turned_(turned) {}

  std::int64_t extent(std::int64_t first, std::int64_t count) const;
  // What is seen, with at least `count` terms.
  at::Tensor seen_terms(std::int64_t count) const;
  at::Tensor seen_;
  bool turned_ = false;
  mutable at::Tensor all_;
};

}  // namespace msprobe::strict
