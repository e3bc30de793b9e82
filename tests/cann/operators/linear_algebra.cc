// SPDX-License-Identifier: Apache-2.0
// Decompositions, distances, norms of parts.
#include "operator.h"

using namespace cann;

OPERATOR(LinalgCross, (T self, T other, int64_t dim, T out),
         out = at::linalg_cross(*self, *other, dim))
OPERATOR(LinalgQr, (T self, int64_t mode, T q, T r), {
  const auto [left, right] = at::linalg_qr(*self, mode == 0   ? "reduced"
                                                  : mode == 1 ? "complete"
                                                              : "r");
  if (mode != 2) q = left;
  r = right;
})
OPERATOR(LinalgCholesky, (T self, bool upper, T out), out = at::linalg_cholesky(*self, upper))
OPERATOR(Svd, (T self, bool full, bool with_vectors, T sigma, T u, T v), {
  if (!with_vectors) {
    sigma = at::linalg_svdvals(*self);
    return;
  }
  const auto [left, values, right] = at::linalg_svd(*self, full);
  sigma = values;
  u = left;
  v = right.mH();
})
OPERATOR(Inverse, (T self, T out), out = at::linalg_inv(*self))
OPERATOR(Slogdet, (T self, T sign, T logarithm), {
  const auto [s, l] = at::linalg_slogdet(*self);
  sign = s;
  logarithm = l;
})
OPERATOR(TriangularSolve,
         (T self, T matrix, bool upper, bool transpose, bool unitriangular, T solution, T copy), {
           const auto [x, m] =
               at::triangular_solve(*self, *matrix, upper, transpose, unitriangular);
           solution = x;
           copy = m;
         })
OPERATOR(Cdist, (T one, T two, float p, int64_t mode, T out), out = at::cdist(*one, *two, p, mode))
OPERATOR(Pdist, (T self, float p, T out), out = at::pdist(*self, p))
OPERATOR(Renorm, (T self, S p, int64_t dim, S most, T out), out = at::renorm(*self, *p, dim, *most))
OPERATOR(InplaceRenorm, (T self, S p, int64_t dim, S most),
         self = at::renorm(*self, *p, dim, *most))
