// SPDX-License-Identifier: Apache-2.0
// Elements moved, picked, made: indices, joins, ranges.
#include "operator.h"

using namespace cann;

namespace {
c10::List<std::optional<at::Tensor>> indices_of(const Tensors& list) {
  c10::List<std::optional<at::Tensor>> indices;
  for (const at::Tensor& index : *list) {
    // A dimension that no index is given for has an empty one.
    if (index.numel() == 0 && index.dim() == 1)
      indices.push_back(std::nullopt);
    else
      indices.push_back(index);
  }
  return indices;
}
}  // namespace

OPERATOR(Embedding, (T weight, T indices, T out), out = at::embedding(*weight, *indices))
OPERATOR(EmbeddingDenseBackward,
         (T grad, T indices, uint64_t rows, uint64_t padding, bool by_frequency, T out),
         out = at::embedding_dense_backward(*grad, *indices, static_cast<int64_t>(rows),
                                            static_cast<int64_t>(padding), by_frequency))
OPERATOR(Index, (T self, Tensors indices, T out), out = at::index(*self, indices_of(indices)))
OPERATOR(IndexPutImpl, (T self, Tensors indices, T values, bool accumulate, bool unsafe),
         self = at::index_put(*self, indices_of(indices), *values, accumulate))
OPERATOR(IndexSelect, (T self, int64_t dim, T index, T out),
         out = at::index_select(*self, dim, *index))
OPERATOR(IndexAdd, (T self, int64_t dim, T index, T source, S alpha, T out),
         out = at::index_add(*self, dim, *index, *source, *alpha))
OPERATOR(IndexAddV2, (T self, int64_t dim, T index, T source, S alpha, int64_t mode, T out),
         out = at::index_add(*self, dim, *index, *source, *alpha))
OPERATOR(IndexCopy, (T self, int64_t dim, T index, T source, T out),
         out = at::index_copy(*self, dim, *index, *source))
OPERATOR(InplaceIndexCopy, (T self, int64_t dim, T index, T source),
         self = at::index_copy(*self, dim, *index, *source))
OPERATOR(IndexFillTensor, (T self, int64_t dim, Ints index, S value, T out),
         out = at::index_fill(*self, dim, at::tensor(*index, at::kLong), *value))
OPERATOR(IndexFill, (T self, int64_t dim, T index, S value, T out),
         out = at::index_fill(*self, dim, *index, *value))
OPERATOR(InplaceIndexFill, (T self, int64_t dim, T index, S value),
         self = at::index_fill(*self, dim, *index, *value))
OPERATOR(InplaceIndexFillTensor, (T self, int64_t dim, Ints index, S value),
         self = at::index_fill(*self, dim, at::tensor(*index, at::kLong), *value))
OPERATOR(Gather, (T self, int64_t dim, T index, T out), out = at::gather(*self, dim, *index))
OPERATOR(Scatter, (T self, int64_t dim, T index, T source, int64_t reduce, T out),
         out = reduce == 0
                   ? at::scatter(*self, dim, *index, *source)
                   : at::scatter(*self, dim, *index, *source, reduce == 1 ? "add" : "multiply"))
OPERATOR(ScatterValue, (T self, int64_t dim, T index, S value, int64_t reduce, T out),
         out = reduce == 0
                   ? at::scatter(*self, dim, *index, *value)
                   : at::scatter(*self, dim, *index, *value, reduce == 1 ? "add" : "multiply"))
OPERATOR(InplaceScatter, (T self, int64_t dim, T index, T source, int64_t reduce),
         self = reduce == 0
                    ? at::scatter(*self, dim, *index, *source)
                    : at::scatter(*self, dim, *index, *source, reduce == 1 ? "add" : "multiply"))
OPERATOR(InplaceScatterValue, (T self, int64_t dim, T index, S value, int64_t reduce),
         self = reduce == 0
                    ? at::scatter(*self, dim, *index, *value)
                    : at::scatter(*self, dim, *index, *value, reduce == 1 ? "add" : "multiply"))
OPERATOR(ScatterAdd, (T self, int64_t dim, T index, T source, T out),
         out = at::scatter_add(*self, dim, *index, *source))
OPERATOR(Take, (T self, T index, T out), out = at::take(*self, *index))
OPERATOR(InplacePut, (T self, T index, T source, bool accumulate),
         self = at::put(*self, *index, *source, accumulate))
OPERATOR(InplaceMaskedFillScalar, (T self, T mask, S value),
         self = at::masked_fill(*self, *mask, *value))
OPERATOR(InplaceMaskedFillTensor, (T self, T mask, T value),
         self = at::masked_fill(*self, *mask, *value))
OPERATOR(InplaceMaskedScatter, (T self, T mask, T source),
         self = at::masked_scatter(*self, *mask, *source))

OPERATOR(Cat, (Tensors tensors, int64_t dim, T out), out = at::cat(*tensors, dim))
OPERATOR(Stack, (Tensors tensors, int64_t dim, T out), out = at::stack(*tensors, dim))
OPERATOR(SplitWithSize, (T self, Ints sizes, int64_t dim, Tensors out),
         out = at::split_with_sizes(*self, *sizes, dim))
OPERATOR(Repeat, (T self, Ints repeats, T out), out = (*self).repeat(*repeats))
OPERATOR(RepeatInterleaveIntWithDim, (T self, int64_t repeats, int64_t dim, int64_t size, T out),
         out = at::repeat_interleave(*self, repeats, dim))
OPERATOR(RepeatInterleaveInt, (T self, int64_t repeats, int64_t size, T out),
         out = at::repeat_interleave(*self, repeats))
OPERATOR(RepeatInterleaveWithDim, (T self, T repeats, int64_t dim, int64_t size, T out),
         out = at::repeat_interleave(*self, *repeats, dim))
OPERATOR(RepeatInterleave, (T self, T repeats, int64_t size, T out),
         out = at::repeat_interleave(*self, *repeats))
OPERATOR(Roll, (T self, Ints shifts, Ints dims, T out), out = at::roll(*self, *shifts, *dims))
OPERATOR(Flip, (T self, Ints dims, T out), out = at::flip(*self, *dims))
OPERATOR(Tril, (T self, int64_t diagonal, T out), out = at::tril(*self, diagonal))
OPERATOR(Triu, (T self, int64_t diagonal, T out), out = at::triu(*self, diagonal))
OPERATOR(InplaceTril, (T self, int64_t diagonal), self = at::tril(*self, diagonal))
OPERATOR(InplaceTriu, (T self, int64_t diagonal), self = at::triu(*self, diagonal))
OPERATOR(ConstantPadNd, (T self, Ints pads, S value, T out),
         out = at::constant_pad_nd(*self, *pads, *value))
OPERATOR(ReflectionPad1d, (T self, Ints pads, T out), out = at::reflection_pad1d(*self, *pads))
OPERATOR(ReflectionPad2d, (T self, Ints pads, T out), out = at::reflection_pad2d(*self, *pads))
OPERATOR(ReplicationPad1d, (T self, Ints pads, T out), out = at::replication_pad1d(*self, *pads))
OPERATOR(ReplicationPad2d, (T self, Ints pads, T out), out = at::replication_pad2d(*self, *pads))
OPERATOR(ReflectionPad1dBackward, (T grad, T self, Ints pads, T out),
         out = at::reflection_pad1d_backward(*grad, *self, *pads))
OPERATOR(ReflectionPad2dBackward, (T grad, T self, Ints pads, T out),
         out = at::reflection_pad2d_backward(*grad, *self, *pads))
OPERATOR(ReplicationPad1dBackward, (T grad, T self, Ints pads, T out),
         out = at::replication_pad1d_backward(*grad, *self, *pads))
OPERATOR(ReplicationPad2dBackward, (T grad, T self, Ints pads, T out),
         out = at::replication_pad2d_backward(*grad, *self, *pads))

OPERATOR(Arange, (S start, S end, S step, T out),
         out = at::arange(*start, *end, *step, (*out).options()))
OPERATOR(Range, (S start, S end, S step, T out),
         out = at::range(*start, *end, *step, (*out).options()))
OPERATOR(Linspace, (S start, S end, int64_t steps, T out),
         out = at::linspace(*start, *end, steps, (*out).options()))
OPERATOR(Eye, (int64_t rows, int64_t columns, T out),
         out = at::eye(rows, columns, (*out).options()))
OPERATOR(OneHot, (T self, int64_t classes, T on, T off, int64_t axis, T out), {
  const at::Tensor hot = at::one_hot((*self).to(at::kLong), classes).to(at::kBool);
  out = at::where(hot, *on, *off).to((*out).scalar_type());
})
OPERATOR(MaxUnpool2d, (T self, T indices, Ints size, T out),
         out = at::max_unpool2d(*self, *indices, *size))
OPERATOR(MaxUnpool3d, (T self, T indices, Ints size, Ints stride, Ints padding, T out),
         out = at::max_unpool3d(*self, *indices, *size, *stride, *padding))
