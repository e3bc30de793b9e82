// SPDX-License-Identifier: Apache-2.0
// Pooling and resampling.
#include "operator.h"

using namespace cann;

namespace {

// Kernels "with mask" keep where the maxima are in a tensor of their own format; here: the indices,
// as int32.
at::Tensor packed(const at::Tensor& indices, const at::Tensor& room) {
  const at::Tensor bytes = indices.to(at::kInt).contiguous().view(at::kChar).flatten();
  TORCH_CHECK(bytes.numel() <= room.numel() * room.element_size(),
              "the mask is too small for the indices");
  at::Tensor all = room.contiguous().view(at::kChar).flatten().clone();
  all.slice(0, 0, bytes.numel()).copy_(bytes);
  return all.view(room.scalar_type()).reshape(room.sizes());
}

at::Tensor unpacked(const at::Tensor& mask, at::IntArrayRef sizes) {
  const int64_t count = c10::multiply_integers(sizes);
  return mask.contiguous()
      .view(at::kChar)
      .flatten()
      .slice(0, 0, count * 4)
      .clone()
      .view(at::kInt)
      .reshape(sizes)
      .to(at::kLong);
}

}  // namespace

OPERATOR(MaxPool2dWithMask,
         (T self, Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil, T out, T mask),
         {
           const auto [result, indices] =
               at::max_pool2d_with_indices(*self, *kernel, *stride, *padding, *dilation, ceil);
           out = result;
           mask = packed(indices, *mask);
         })
OPERATOR(MaxPool2dWithMaskBackward,
         (T grad, T self, T mask, Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil,
          T out),
         out = at::max_pool2d_with_indices_backward(*grad, *self, *kernel, *stride, *padding,
                                                    *dilation, ceil,
                                                    unpacked(*mask, (*grad).sizes())))
OPERATOR(MaxPool2dWithIndices,
         (T self, Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil, T out,
          T indices),
         {
           const auto [result, places] =
               at::max_pool2d_with_indices(*self, *kernel, *stride, *padding, *dilation, ceil);
           out = result;
           indices = places;
         })
OPERATOR(MaxPool2dWithIndicesBackward,
         (T grad, T self, T indices, Ints kernel, Ints stride, Ints padding, Ints dilation,
          bool ceil, T out),
         out = at::max_pool2d_with_indices_backward(*grad, *self, *kernel, *stride, *padding,
                                                    *dilation, ceil, (*indices).to(at::kLong)))
namespace {
std::optional<int64_t> divisor_of(int64_t divisor) {
  return divisor == 0 ? std::nullopt : std::optional(divisor);
}
}  // namespace
OPERATOR(AvgPool2d,
         (T self, Ints kernel, Ints stride, Ints padding, bool ceil, bool count_pad,
          int64_t divisor, int8_t cube, T out),
         out = at::avg_pool2d(*self, *kernel, *stride, *padding, ceil, count_pad,
                              divisor_of(divisor)))
OPERATOR(AvgPool2dBackward,
         (T grad, T self, Ints kernel, Ints stride, Ints padding, bool ceil, bool count_pad,
          int64_t divisor, int8_t cube, T out),
         out = at::avg_pool2d_backward(*grad, *self, *kernel, *stride, *padding, ceil, count_pad,
                                       divisor_of(divisor)))
OPERATOR(AvgPool3d,
         (T self, Ints kernel, Ints stride, Ints padding, bool ceil, bool count_pad,
          int64_t divisor, T out),
         out = at::avg_pool3d(*self, *kernel, *stride, *padding, ceil, count_pad,
                              divisor_of(divisor)))
OPERATOR(AvgPool3dBackward,
         (T grad, T self, Ints kernel, Ints stride, Ints padding, bool ceil, bool count_pad,
          int64_t divisor, T out),
         out = at::avg_pool3d_backward(*grad, *self, *kernel, *stride, *padding, ceil, count_pad,
                                       divisor_of(divisor)))
OPERATOR(AdaptiveAvgPool2d, (T self, Ints size, T out),
         out = at::_adaptive_avg_pool2d(*self, *size))
OPERATOR(AdaptiveAvgPool2dBackward, (T grad, T self, T out),
         out = at::_adaptive_avg_pool2d_backward(*grad, *self))
OPERATOR(AdaptiveAvgPool3d, (T self, Ints size, T out),
         out = at::_adaptive_avg_pool3d(*self, *size))
OPERATOR(AdaptiveAvgPool3dBackward, (T grad, T self, T out),
         out = at::_adaptive_avg_pool3d_backward(*grad, *self))
OPERATOR(AdaptiveMaxPool2d, (T self, Ints size, T out, T indices), {
  const auto [result, places] = at::adaptive_max_pool2d(*self, *size);
  out = result;
  indices = places;
})
OPERATOR(AdaptiveMaxPool2dBackward, (T grad, T self, T indices, T out),
         out = at::adaptive_max_pool2d_backward(*grad, *self, (*indices).to(at::kLong)))
OPERATOR(Im2col, (T self, Ints kernel, Ints dilation, Ints padding, Ints stride, T out),
         out = at::im2col(*self, *kernel, *dilation, *padding, *stride))
OPERATOR(Im2colBackward,
         (T grad, Ints size, Ints kernel, Ints dilation, Ints padding, Ints stride, T out),
         out = at::col2im(*grad, *size, *kernel, *dilation, *padding, *stride))
OPERATOR(MaxPool3dWithArgmax,
         (T self, Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil, T out,
          T indices),
         {
           const auto [result, places] =
               at::max_pool3d_with_indices(*self, *kernel, *stride, *padding, *dilation, ceil);
           out = result;
           indices = places;
         })
OPERATOR(MaxPool3dWithArgmaxBackward,
         (T grad, T self, T indices, Ints kernel, Ints stride, Ints padding, Ints dilation,
          bool ceil, T out),
         out = at::max_pool3d_with_indices_backward(*grad, *self, *kernel, *stride, *padding,
                                                    *dilation, ceil, (*indices).to(at::kLong)))
