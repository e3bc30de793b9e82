// SPDX-License-Identifier: Apache-2.0
#include "strict/right_factor.h"

#include <ATen/TensorIndexing.h>

namespace msprobe::strict {
namespace {

// Where the extents of the terms and of the columns begin.
constexpr std::int64_t kPlaceTerms = 1, kPlaceColumns = 4;
constexpr std::int64_t kWeightColumns = 0, kWeightTerms = 3;

at::Tensor in_matrices_of(const at::Tensor& seen, bool turned) {
  return turned ? seen.flatten(kWeightTerms).flatten(kWeightColumns, kWeightTerms - 1).t()
                : seen.flatten(kPlaceColumns).flatten(kPlaceTerms, kPlaceColumns - 1);
}

std::int64_t parts_for(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

}  // namespace

std::int64_t RightFactor::extent(std::int64_t first, std::int64_t count) const {
  return c10::multiply_integers(
      seen_.sizes().slice(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
}

std::vector<std::int64_t> RightFactor::sizes() const {
  if (all_.defined()) return all_.sizes().vec();
  if (turned_) return {extent(kWeightTerms, 3), extent(kWeightColumns, 3)};
  return {seen_.size(0), extent(kPlaceTerms, 3), extent(kPlaceColumns, 2)};
}

std::int64_t RightFactor::size(int dim) const {
  const std::vector<std::int64_t> all = sizes();
  return dim < 0 ? *(all.end() + dim) : all[static_cast<std::size_t>(dim)];
}

at::ScalarType RightFactor::scalar_type() const {
  return (all_.defined() ? all_ : seen_).scalar_type();
}

const at::Tensor& RightFactor::all() const {
  if (!all_.defined()) all_ = in_matrices_of(seen_, turned_);
  return all_;
}

at::Tensor RightFactor::seen_terms(std::int64_t count) const {
  const std::int64_t first = turned_ ? kWeightTerms : kPlaceTerms;
  const std::int64_t of_second = seen_.size(first + 2);
  const std::int64_t of_first = of_second * seen_.size(first + 1);
  at::Tensor part = seen_.narrow(first, 0, parts_for(count, of_first));
  if (count <= of_first) part = part.narrow(first + 1, 0, parts_for(count, of_second));
  return part;
}

at::Tensor RightFactor::first_terms(std::int64_t count) const {
  if (all_.defined() || count == size(-2)) return all().narrow(-2, 0, count);
  return in_matrices_of(seen_terms(count), turned_).narrow(-2, 0, count);
}

at::Tensor RightFactor::columns_at(const at::Tensor& matrices, const at::Tensor& columns) const {
  if (all_.defined()) {
    return all_.dim() == 2 ? all_.t().index({columns}) : all_.mT().index({matrices, columns});
  }
  const std::int64_t first = turned_ ? kWeightColumns : kPlaceColumns;
  std::vector<at::indexing::TensorIndex> index(static_cast<std::size_t>(seen_.dim()),
                                               at::indexing::Slice());
  at::Tensor rest = columns;
  for (std::int64_t dim = turned_ ? kWeightTerms : seen_.dim(); dim-- > first;) {
    index[static_cast<std::size_t>(dim)] = rest.remainder(seen_.size(dim));
    rest = rest.div(seen_.size(dim), "floor");
  }
  if (!turned_) index.front() = matrices;
  return seen_.index(index).flatten(1);
}

}  // namespace msprobe::strict
