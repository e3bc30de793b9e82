// SPDX-License-Identifier: Apache-2.0
// Images of another size. A scale of 0 is one that the caller left out.
#include "operator.h"

using namespace cann;

namespace {
std::optional<double> given(double scale) {
  return scale > 0 ? std::optional(scale) : std::nullopt;
}
}  // namespace

OPERATOR(UpsampleNearest1d, (T self, Ints size, T out), out = at::upsample_nearest1d(*self, *size))
OPERATOR(UpsampleNearest1dV2, (T self, Ints size, float scale, T out),
         out = at::upsample_nearest1d(*self, *size, given(scale)))
OPERATOR(UpsampleNearest1dBackward, (T grad, Ints size, Ints from, double scale, T out),
         out = at::upsample_nearest1d_backward(*grad, *size, *from, given(scale)))
OPERATOR(UpsampleNearest2d, (T self, Ints size, T out), out = at::upsample_nearest2d(*self, *size))
OPERATOR(UpsampleNearest2dV2, (T self, Ints size, float high, float wide, T out),
         out = at::upsample_nearest2d(*self, *size, given(high), given(wide)))
OPERATOR(UpsampleNearest2dBackward, (T grad, Ints size, Ints from, double high, double wide, T out),
         out = at::upsample_nearest2d_backward(*grad, *size, *from, given(high), given(wide)))
OPERATOR(UpsampleNearest3d, (T self, Ints size, double deep, double high, double wide, T out),
         out = at::upsample_nearest3d(*self, *size, given(deep), given(high), given(wide)))
OPERATOR(UpsampleNearest3dBackward,
         (T grad, Ints size, Ints from, double deep, double high, double wide, T out),
         out = at::upsample_nearest3d_backward(*grad, *size, *from, given(deep), given(high),
                                               given(wide)))
OPERATOR(UpsampleLinear1d, (T self, Ints size, bool corners, double scale, T out),
         out = at::upsample_linear1d(*self, *size, corners, given(scale)))
OPERATOR(UpsampleLinear1dBackward,
         (T grad, Ints size, Ints from, bool corners, double scale, T out),
         out = at::upsample_linear1d_backward(*grad, *size, *from, corners, given(scale)))
OPERATOR(UpsampleBilinear2d, (T self, Ints size, bool corners, double high, double wide, T out),
         out = at::upsample_bilinear2d(*self, *size, corners, given(high), given(wide)))
OPERATOR(UpsampleBilinear2dBackward,
         (T grad, Ints size, Ints from, bool corners, double high, double wide, T out),
         out = at::upsample_bilinear2d_backward(*grad, *size, *from, corners, given(high),
                                                given(wide)))
OPERATOR(UpsampleBilinear2dBackwardV2,
         (T grad, Ints size, Ints from, bool corners, double high, double wide, T out),
         out = at::upsample_bilinear2d_backward(*grad, *size, *from, corners, given(high),
                                                given(wide)))
OPERATOR(UpsampleBicubic2d, (T self, Ints size, bool corners, double high, double wide, T out),
         out = at::upsample_bicubic2d(*self, *size, corners, given(high), given(wide)))
OPERATOR(UpsampleBicubic2dBackward,
         (T grad, Ints size, Ints from, bool corners, double high, double wide, T out),
         out = at::upsample_bicubic2d_backward(*grad, *size, *from, corners, given(high),
                                               given(wide)))
OPERATOR(UpsampleTrilinear3d,
         (T self, Ints size, bool corners, double deep, double high, double wide, T out),
         out = at::upsample_trilinear3d(*self, *size, corners, given(deep), given(high),
                                        given(wide)))
OPERATOR(UpsampleTrilinear3dBackward,
         (T grad, Ints size, Ints from, bool corners, double deep, double high, double wide, T out),
         out = at::upsample_trilinear3d_backward(*grad, *size, *from, corners, given(deep),
                                                 given(high), given(wide)))
OPERATOR(GridSampler2D, (T self, T grid, int64_t mode, int64_t padding, bool corners, T out),
         out = at::grid_sampler_2d(*self, *grid, mode, padding, corners))
OPERATOR(GridSampler2DBackward,
         (T grad, T self, T grid, int64_t mode, int64_t padding, bool corners, Bools mask,
          T grad_self, T grad_grid),
         {
           const auto [to_self, to_grid] = at::grid_sampler_2d_backward(
               *grad, *self, *grid, mode, padding, corners, {true, true});
           grad_self = to_self;
           grad_grid = to_grid;
         })
OPERATOR(GridSampler3D, (T self, T grid, int64_t mode, int64_t padding, bool corners, T out),
         out = at::grid_sampler_3d(*self, *grid, mode, padding, corners))
OPERATOR(GridSampler3DBackward,
         (T grad, T self, T grid, int64_t mode, int64_t padding, bool corners, Bools mask,
          T grad_self, T grad_grid),
         {
           const auto [to_self, to_grid] = at::grid_sampler_3d_backward(
               *grad, *self, *grid, mode, padding, corners, {true, true});
           grad_self = to_self;
           grad_grid = to_grid;
         })
OPERATOR(ChannelShuffle, (T self, int64_t groups, T out), out = at::channel_shuffle(*self, groups))
