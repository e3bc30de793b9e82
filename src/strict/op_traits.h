// What is known of an API that shapes and values do not tell.
#pragma once

#include <cstdint>
#include <string_view>

namespace msprobe::strict {

// Moves, selects or compares numbers and makes no new ones: its results are exact.
bool is_exact(std::string_view bare_name);

// What the terms of a result are made of: how many of them are summed for one element.
enum class Sums : std::uint8_t {
  kByShape,      // as many as the largest tensor has elements per element of the result
  kContraction,  // products over the last extent of the first tensor (matmul, linear)
  kConvolution,  // products over channels and kernel: the weight, per output channel
  kAlongDim,     // over one extent (softmax, cumsum, norms along a dimension)
  kNormalized,   // over what a normalisation averages
  kAll,          // over everything (losses, attention, linear algebra, recurrences)
};
Sums sums_of(std::string_view bare_name);

// Made of products that matrix units compute, whose inputs a device may be allowed to round.
bool is_product(std::string_view bare_name);

}  // namespace msprobe::strict
