// SPDX-License-Identifier: Apache-2.0
// A product of codes with scales, as what it means: a sum of exact products in float64. Never the
// CPU's own operator, which scales the factors before it adds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libtorch/aten.h"
#include "low_precision/block_scales.h"

namespace msprobe::low_precision {

// One factor, with its rows outermost: the right one transposed.
struct Factor {
  at::Tensor numbers;  // (rows, terms), what the codes mean, without scales; float64
  at::Tensor scales;   // (rows or 1, blocks); undefined: 1
  std::int64_t block = 1;
  double scale = 1;  // of the whole tensor, beside those of its blocks

  FactorShape shape() const { return {numbers.size(0), numbers.size(1)}; }
  // The numbers times the scales. Their product needs 28 bits, so this is exact.
  at::Tensor scaled() const;
};

// One matrix product of the call, and the part of the result it is.
struct Part {
  Factor left, right;
  std::int64_t index = -1;  // of the first extent of a result of three; -1: the result has two
  std::int64_t row = 0, column = 0;

  // `result` narrowed to this part.
  at::Tensor place_in(const at::Tensor& result) const;
};

struct ScaledProduct {
  std::vector<Part> parts;
  std::vector<std::int64_t> shape;  // of the result
  at::Tensor bias;                  // float64; undefined: none
  at::ScalarType type = at::kBFloat16;
  bool fast_sums = false;           // use_fast_accum: 13-bit sums may stay 13-bit sums
  std::optional<double> of_result;  // scale_result, where it is not 1
  bool scaled = true;               // false: _grouped_mm, whose numbers have no scales
  bool is_whole = true;             // false: some of the result belongs to no group
  at::ScalarType left_type = at::kFloat8_e4m3fn, right_type = at::kFloat8_e4m3fn;
};

// The result in float64, before it is rounded. What belongs to no group is 0.
at::Tensor compose(const ScaledProduct& product);

// What a bound needs to know of every element, in float64.
struct TermSizes {
  at::Tensor sums;      // of the sizes of the terms, scales included
  at::Tensor norms;     // the root of the sum of their squares
  at::Tensor products;  // the result without the bias
  std::int64_t terms = 0;
};
TermSizes term_sizes(const ScaledProduct& product);

// Whether an element belongs to a group, as a bool tensor of the result's shape.
at::Tensor is_defined(const ScaledProduct& product);

}  // namespace msprobe::low_precision
