// SPDX-License-Identifier: Apache-2.0
#include "low_precision/block_scales.h"

#include <algorithm>

#include "low_precision/codes.h"

namespace msprobe::low_precision {
namespace {

constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kTileBlocks = 4;

std::int64_t ceil_div(std::int64_t number, std::int64_t by) { return (number + by - 1) / by; }
std::int64_t up(std::int64_t number, std::int64_t to) { return ceil_div(number, to) * to; }

at::Tensor scale_numbers(const at::Tensor& scales, Recipe recipe) {
  if (scales.scalar_type() == at::kByte && recipe == Recipe::k1x32) {
    return numbers_of(CodeFormat::kE8M0, bytes_of(scales));
  }
  const at::Tensor numbers = numbers_of(scales);
  return code_format(scales.scalar_type()) ? numbers.abs() : numbers;
}

bool has_shape(const at::Tensor& tensor, std::int64_t rows, std::int64_t columns) {
  return tensor.dim() == 2 && tensor.size(0) == rows && tensor.size(1) == columns;
}

// (rows, blocks), or its transpose: whichever the shape is; `transposed` decides where both fit.
at::Tensor as_grid(const at::Tensor& numbers, std::int64_t rows, std::int64_t blocks,
                   bool transposed) {
  const bool lies = has_shape(numbers, rows, blocks);
  const bool stands = has_shape(numbers, blocks, rows);
  if (stands && (transposed || !lies)) return numbers.t();
  return lies ? numbers : numbers.reshape({rows, blocks});
}

// The second version pads the blocks to four and has them first; the first one does neither.
at::Tensor grid_of_squares(const at::Tensor& numbers, std::int64_t rows, std::int64_t blocks,
                           bool first_version, bool of_right) {
  const std::int64_t padded = up(blocks, kTileBlocks);
  const bool second = has_shape(numbers, padded, rows);
  if (second && (!first_version || !has_shape(numbers, rows, blocks))) {
    return numbers.narrow(0, 0, blocks).t();
  }
  return as_grid(numbers, rows, blocks, of_right || !first_version);
}

}  // namespace

std::int64_t block_length(Recipe recipe, std::int64_t terms) {
  switch (recipe) {
    case Recipe::kTensor:
    case Recipe::kRow:
      return std::max<std::int64_t>(terms, 1);
    case Recipe::k1x16:
      return 16;
    case Recipe::k1x32:
      return 32;
    default:
      return 128;
  }
}

std::int64_t swizzled_size(std::int64_t rows, std::int64_t blocks) {
  return up(rows, kTileRows) * up(blocks, kTileBlocks);
}

at::Tensor unswizzled(const at::Tensor& scales, std::int64_t rows, std::int64_t blocks) {
  const std::int64_t tall = ceil_div(rows, kTileRows);
  const std::int64_t wide = ceil_div(blocks, kTileBlocks);
  // Inside a tile: the row modulo 32, the quarter of the tile, the block.
  return scales.contiguous()
      .view({tall, wide, 32, 4, kTileBlocks})
      .permute({0, 3, 2, 1, 4})
      .reshape({tall * kTileRows, wide * kTileBlocks})
      .narrow(0, 0, rows)
      .narrow(1, 0, blocks)
      .contiguous();
}

at::Tensor swizzled(const at::Tensor& grid) {
  const std::int64_t tall = ceil_div(grid.size(0), kTileRows);
  const std::int64_t wide = ceil_div(grid.size(1), kTileBlocks);
  at::Tensor padded = at::zeros({tall * kTileRows, wide * kTileBlocks}, grid.options());
  padded.narrow(0, 0, grid.size(0)).narrow(1, 0, grid.size(1)).copy_(grid);
  return padded.view({tall, 4, 32, wide, kTileBlocks})
      .permute({0, 3, 2, 1, 4})
      .contiguous()
      .flatten();
}

at::Tensor scale_grid(const at::Tensor& scales, Recipe recipe, Swizzle swizzle,
                      const FactorShape& shape, bool first_version, bool of_right) {
  const at::Tensor numbers = scale_numbers(scales, recipe);
  const std::int64_t blocks = ceil_div(shape.terms, block_length(recipe, shape.terms));
  switch (recipe) {
    case Recipe::kTensor:
      return numbers.reshape({1, 1});
    case Recipe::kRow:
      return numbers.reshape({shape.rows, 1});
    case Recipe::k1x16:
    case Recipe::k1x32:
      if (swizzle == Swizzle::k32x4x4) {
        return unswizzled(numbers.flatten(), shape.rows, blocks);
      }
      return as_grid(numbers, shape.rows, blocks, false);
    case Recipe::k1x128:
      return as_grid(numbers, shape.rows, blocks, of_right && first_version);
    case Recipe::k128x128:
      break;
  }
  const std::int64_t squares = ceil_div(shape.rows, kTileRows);
  return grid_of_squares(numbers, squares, blocks, first_version, of_right)
      .repeat_interleave(kTileRows, 0)
      .narrow(0, 0, shape.rows);
}

at::Tensor for_elements(const at::Tensor& grid, std::int64_t block, const FactorShape& shape) {
  at::Tensor wide = grid;
  if (grid.size(1) > 1) wide = grid.repeat_interleave(block, 1).narrow(1, 0, shape.terms);
  return wide.expand({shape.rows, shape.terms});
}

}  // namespace msprobe::low_precision
