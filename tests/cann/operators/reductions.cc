// SPDX-License-Identifier: Apache-2.0
// Sums, extremes, orders.
#include "operator.h"

using namespace cann;

OPERATOR(ReduceSum, (T self, Ints dims, bool keep, Type type, T out),
         out = at::sum(*self, dims.maybe(), keep, scalar_type(type)))
OPERATOR(Mean, (T self, Ints dims, bool keep, Type type, T out),
         out = at::mean(*self, dims.maybe(), keep, scalar_type(type)))
OPERATOR(ReduceNansum, (T self, Ints dims, bool keep, Type type, T out),
         out = at::nansum(*self, dims.maybe(), keep, scalar_type(type)))
OPERATOR(Amax, (T self, Ints dims, bool keep, T out), out = at::amax(*self, *dims, keep))
OPERATOR(Amin, (T self, Ints dims, bool keep, T out), out = at::amin(*self, *dims, keep))
OPERATOR(Max, (T self, T out), out = at::max(*self))
OPERATOR(Min, (T self, T out), out = at::min(*self))
OPERATOR(Prod, (T self, Type type, T out), out = at::prod(*self, scalar_type(type)))
OPERATOR(ProdDim, (T self, int64_t dim, bool keep, Type type, T out),
         out = at::prod(*self, dim, keep, scalar_type(type)))
OPERATOR(All, (T self, Ints dims, bool keep, T out), out = at::all(*self, dims.maybe(), keep))
OPERATOR(Any, (T self, Ints dims, bool keep, T out), out = at::any(*self, dims.maybe(), keep))
OPERATOR(ArgMax, (T self, int64_t dim, bool keep, T out), out = at::argmax(*self, dim, keep))
OPERATOR(ArgMin, (T self, int64_t dim, bool keep, T out), out = at::argmin(*self, dim, keep))
OPERATOR(Var, (T self, Ints dims, bool unbiased, bool keep, T out),
         out = at::var(*self, dims.maybe(), unbiased, keep))
OPERATOR(VarCorrection, (T self, Ints dims, int64_t correction, bool keep, T out),
         out = at::var(*self, dims.maybe(), std::optional<at::Scalar>(correction), keep))
OPERATOR(Std, (T self, Ints dims, int64_t correction, bool keep, T out),
         out = at::std(*self, dims.maybe(), std::optional<at::Scalar>(correction), keep))
OPERATOR(VarMean, (T self, Ints dims, int64_t correction, bool keep, T variance, T mean), {
  const auto [v, m] =
      at::var_mean(*self, dims.maybe(), std::optional<at::Scalar>(correction), keep);
  variance = v;
  mean = m;
})
OPERATOR(StdMeanCorrection, (T self, Ints dims, int64_t correction, bool keep, T deviation, T mean),
         {
           const auto [s, m] =
               at::std_mean(*self, dims.maybe(), std::optional<at::Scalar>(correction), keep);
           deviation = s;
           mean = m;
         })
OPERATOR(Norm, (T self, S p, Ints dims, bool keep, T out),
         out = at::norm(*self, p.maybe(), *dims, keep))
OPERATOR(LinalgVectorNorm, (T self, S order, Ints dims, bool keep, Type type, T out),
         out = at::linalg_vector_norm(*self, *order, dims.maybe(), keep, scalar_type(type)))
OPERATOR(LogSumExp, (T self, Ints dims, bool keep, T out), out = at::logsumexp(*self, *dims, keep))
OPERATOR(Cumsum, (T self, int64_t dim, Type type, T out),
         out = at::cumsum(*self, dim, scalar_type(type)))
OPERATOR(Cumprod, (T self, S dim, Type type, T out),
         out = at::cumprod(*self, (*dim).toLong(), scalar_type(type)))
OPERATOR(Trace, (T self, T out), out = at::trace(self))
OPERATOR(Median, (T self, T out), out = at::median(*self))
OPERATOR(NanMedian, (T self, T out), out = at::nanmedian(*self))
OPERATOR(Bincount, (T self, T weights, int64_t length, T out),
         out = at::bincount(self, weights, length))
OPERATOR(Histc, (T self, int64_t bins, S low, S high, T out),
         out = at::histc(self, bins, *low, *high))

// Values and where they are.
#define TWO(name, parameters, ...)                           \
  OPERATOR(name, (SPLICE parameters, T values, T indices), { \
    const auto [found, places] = __VA_ARGS__;                \
    values = found;                                          \
    if (indices.defined()) indices = places;                 \
  })
TWO(MaxDim, (T self, int64_t dim, bool keep), at::max(*self, dim, keep))
TWO(MinDim, (T self, int64_t dim, bool keep), at::min(*self, dim, keep))
TWO(MedianDim, (T self, int64_t dim, bool keep), at::median(*self, dim, keep))
TWO(NanMedianDim, (T self, int64_t dim, bool keep), at::nanmedian(*self, dim, keep))
TWO(Cummax, (T self, int64_t dim), at::cummax(*self, dim))
TWO(Cummin, (T self, int64_t dim), at::cummin(*self, dim))
TWO(Sort, (T self, bool stable, int64_t dim, bool descending),
    at::sort(*self, true, dim, descending))
TWO(Topk, (T self, int64_t k, int64_t dim, bool largest, bool sorted),
    at::topk(*self, k, dim, largest, sorted))
TWO(Kthvalue, (T self, int64_t k, int64_t dim, bool keep), at::kthvalue(*self, k, dim, keep))
OPERATOR(Aminmax, (T self, Ints dims, bool keep, T low, T high), {
  low = at::amin(*self, *dims, keep);
  high = at::amax(*self, *dims, keep);
})
OPERATOR(AminmaxAll, (T self, T low, T high), {
  low = at::min(*self);
  high = at::max(*self);
})
OPERATOR(AminmaxDim, (T self, int64_t dim, bool keep, T low, T high), {
  low = at::amin(*self, dim, keep);
  high = at::amax(*self, dim, keep);
})
