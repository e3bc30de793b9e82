// SPDX-License-Identifier: Apache-2.0
// What the matrix unit does: products and convolutions. `cube` is CANN's cube_math_type: whether
// less precision is allowed.
#include "operator.h"

using namespace cann;

#define IN(tensor) cube_input(*tensor, cube)

OPERATOR(Matmul, (T self, T other, T out, int8_t cube), out = at::matmul(IN(self), IN(other)))
OPERATOR(MatmulWeightNz, (T self, T other, T out, int8_t cube),
         out = at::matmul(IN(self), IN(other)))
OPERATOR(Mm, (T self, T other, T out, int8_t cube), out = at::mm(IN(self), IN(other)))
OPERATOR(BatchMatMul, (T self, T other, T out, int8_t cube), out = at::bmm(IN(self), IN(other)))
OPERATOR(Mv, (T self, T vector, T out, int8_t cube), out = at::mv(IN(self), IN(vector)))
OPERATOR(Dot, (T self, T other, T out), out = at::dot(self, other))
OPERATOR(Addmm, (T self, T one, T two, S beta, S alpha, T out, int8_t cube),
         out = at::addmm(*self, IN(one), IN(two), beta, alpha))
OPERATOR(InplaceAddmm, (T self, T one, T two, S beta, S alpha, int8_t cube),
         self = at::addmm(*self, IN(one), IN(two), beta, alpha))
OPERATOR(Addmv, (T self, T matrix, T vector, S alpha, S beta, T out, int8_t cube),
         out = at::addmv(*self, IN(matrix), IN(vector), beta, alpha))
OPERATOR(Addbmm, (T self, T one, T two, S beta, S alpha, T out, int8_t cube),
         out = at::addbmm(*self, IN(one), IN(two), beta, alpha))
OPERATOR(Baddbmm, (T self, T one, T two, S beta, S alpha, T out, int8_t cube),
         out = at::baddbmm(*self, IN(one), IN(two), beta, alpha))
OPERATOR(Addr, (T self, T one, T two, S beta, S alpha, T out),
         out = at::addr(self, one, two, beta, alpha))
OPERATOR(InplaceAddr, (T self, T one, T two, S beta, S alpha),
         self = at::addr(self, one, two, beta, alpha))

OPERATOR(Convolution,
         (T input, T weight, T bias, Ints stride, Ints padding, Ints dilation, bool transposed,
          Ints output_padding, int64_t groups, T out, int8_t cube),
         out = at::convolution(IN(input), IN(weight), bias.maybe(), *stride, *padding, *dilation,
                               transposed, *output_padding, groups))
OPERATOR(ConvolutionBackward,
         (T grad, T input, T weight, Ints bias_sizes, Ints stride, Ints padding, Ints dilation,
          bool transposed, Ints output_padding, int64_t groups, Bools mask, int8_t cube,
          T grad_input, T grad_weight, T grad_bias),
         {
           const std::array<bool, 3> wanted = mask.first<3>();
           // The sum for the bias is no product: it takes the gradient as it is.
           const auto [to_input, to_weight, unused] =
               at::convolution_backward(IN(grad), IN(input), IN(weight), std::nullopt, *stride,
                                        *padding, *dilation, transposed, *output_padding, groups,
                                        std::array<bool, 3>{wanted[0], wanted[1], false});
           if (wanted[0]) grad_input = to_input;
           if (wanted[1]) grad_weight = to_weight;
           if (!wanted[2]) return;
           std::vector<int64_t> dims{0};
           for (int64_t dim = 2; dim < (*grad).dim(); ++dim) dims.push_back(dim);
           grad_bias = (*grad).sum(dims);
         })
OPERATOR(ConvDepthwise2d,
         (T self, T weight, Ints kernel, T bias, Ints stride, Ints padding, Ints dilation, T out,
          int8_t cube),
         out = at::conv2d(IN(self), IN(weight), bias.maybe(), *stride, *padding, *dilation,
                          (*weight).size(0)))
OPERATOR(ConvTbc, (T self, T weight, T bias, int64_t pad, T out, int8_t cube),
         out = at::conv_tbc(IN(self), IN(weight), *bias, pad))
