// SPDX-License-Identifier: Apache-2.0
// The scales of blocks: how they lie in memory, and the number that each element is multiplied by.
// docs/low_precision.md has the layouts.
#pragma once

#include <cstdint>

#include "libtorch/aten.h"

namespace msprobe::low_precision {

// As torch.nn.functional.ScalingType and SwizzleType number them.
enum class Recipe : std::uint8_t { kTensor, kRow, k1x16, k1x32, k1x128, k128x128 };
enum class Swizzle : std::uint8_t { kNone, k32x4x4 };

// Elements along the contracted extent that share a scale; `terms` where all do.
std::int64_t block_length(Recipe recipe, std::int64_t terms);

// A grid (rows, blocks) out of tiles of 128 rows by 4 blocks: padded to whole tiles, these one
// behind the other, (r, c) of a tile at (r % 32) * 16 + r / 32 * 4 + c. REQUIRES: as many elements
// as the padded grid has.
at::Tensor unswizzled(const at::Tensor& scales, std::int64_t rows, std::int64_t blocks);
// The reverse, flat; the padding is zero.
at::Tensor swizzled(const at::Tensor& grid);
// The elements of a swizzled grid.
std::int64_t swizzled_size(std::int64_t rows, std::int64_t blocks);

// What the scales of one factor say of it.
struct FactorShape {
  std::int64_t rows = 0;   // of the left factor, or columns of the right one
  std::int64_t terms = 0;  // the contracted extent, in elements
};

// The scales in float64 as a grid: one row for each row of the factor (or a single one for all of
// them), one column for each block of terms. The layouts of both versions of the operator are told
// apart by their shape; `first_version` decides where both fit. uint8 is read as e8m0 for blocks of
// 32. e4m3fn is read without sign, as hardware does. Throws what LibTorch throws where no layout
// fits.
at::Tensor scale_grid(const at::Tensor& scales, Recipe recipe, Swizzle swizzle,
                      const FactorShape& shape, bool first_version, bool of_right);

// The grid as a number for each element of the factor, (rows, terms).
at::Tensor for_elements(const at::Tensor& grid, std::int64_t block, const FactorShape& shape);

}  // namespace msprobe::low_precision
