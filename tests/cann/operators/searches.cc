// SPDX-License-Identifier: Apache-2.0
// Elements found: where they are, which differ. How many there are is known only in the end.
#include "operator.h"

using namespace cann;

OPERATOR(Nonzero, (T self, T out), write_some(out, at::nonzero(*self)))
OPERATOR(NonzeroV2, (T self, T out), write_some(out, at::nonzero(*self).t()))
OPERATOR(MaskedSelect, (T self, T mask, T out),
         write_some(out, at::masked_select(*self, (*mask).to(at::kBool))))
OPERATOR(Unique2,
         (T self, bool sorted, bool with_inverse, bool with_counts, T out, T inverse, T counts), {
           const auto [values, places, numbers] =
               at::_unique2(*self, true, with_inverse, with_counts);
           write_some(out, values);
           if (with_inverse) write_some(inverse, places);
           if (with_counts) write_some(counts, numbers);
         })
OPERATOR(Unique, (T self, bool sorted, bool with_inverse, T out, T inverse), {
  const auto [values, places] = at::_unique(*self, true, with_inverse);
  write_some(out, values);
  if (with_inverse) write_some(inverse, places);
})
OPERATOR(UniqueDim,
         (T self, bool sorted, bool with_inverse, int64_t dim, T out, T inverse, T counts), {
           const auto [values, places, numbers] = at::unique_dim(*self, dim, true, true, true);
           write_some(out, values);
           write_some(inverse, places);
           write_some(counts, numbers);
         })
OPERATOR(UniqueConsecutive,
         (T self, bool with_inverse, bool with_counts, int64_t dim, T out, T inverse, T counts), {
           constexpr int64_t kFlat = 1000;
           const auto [values, places, numbers] = at::unique_consecutive(
               *self, with_inverse, with_counts, dim == kFlat ? std::nullopt : std::optional(dim));
           write_some(out, values);
           if (with_inverse) write_some(inverse, places);
           if (with_counts) write_some(counts, numbers);
         })
OPERATOR(SearchSorted, (T edges, T self, bool narrow, bool right, T order, T out),
         out = at::searchsorted(*edges, *self, narrow, right, std::nullopt, order.maybe()))
OPERATOR(SearchSorteds, (T edges, S self, bool narrow, bool right, T order, T out),
         out = at::searchsorted(*edges, *self, narrow, right, std::nullopt, order.maybe()))
OPERATOR(Bucketize, (T self, T edges, bool narrow, bool right, T out),
         out = at::bucketize(*self, *edges, narrow, right))
OPERATOR(IsInTensorScalar, (T self, S other, bool unique, bool invert, T out),
         out = at::isin(*self, *other, unique, invert))
OPERATOR(IsInScalarTensor, (S self, T other, bool unique, bool invert, T out),
         out = at::isin(*self, *other, unique, invert))
