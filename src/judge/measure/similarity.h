// SPDX-License-Identifier: Apache-2.0
// How alike two tensors are, by the plain definitions of the graph-mode comparison: no epsilon, no
// thresholds of a dtype. D is the compared tensor (device), B the reference (bench); both are taken
// as doubles (complex: pairs of them).
//
//   Elements that are NaN or infinite on either side are left out of every sum and maximum; where
//   the two are not the same (NaN with NaN, infinity with the same infinity) they are mismatches.
//   relative error  |D - B| / |B|; 0 where D equals B, infinite where only B is 0
//   cosine          D.B / (|D| |B|), complex |<D,B>| / (|D| |B|); 1 where both are all zero, NaN
//                   where one is
//
// The comparison of two dumps defines the relative error otherwise: see RelativeRule.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "core/tensor.h"

namespace msprobe::measure {

// One side only; NaN is left out and counted. Nothing is known of complex tensors.
struct SideTally {
  std::uint64_t count = 0;  // elements that are not NaN
  std::uint64_t nans = 0;
  double max = -std::numeric_limits<double>::infinity();
  double min = std::numeric_limits<double>::infinity();
  double sum = 0;
  double squares = 0;

  double mean() const { return sum / static_cast<double>(count); }
};

// How the relative error of an element is calculated.
enum class RelativeRule : std::uint8_t {
  kPlain,          // as above
  kEpsilonSingle,  // |(D - B) / B| in float32; where B is 0, 2^-23 is added to both first
  kEpsilonDouble,  // the same in float64 with 2^-52
};
// The rule with an epsilon for two dtypes: kEpsilonSingle for floats of at most 32 bits.
RelativeRule epsilon_rule(DType device, DType bench);

// What one pass over (a part of) a pair collects.
struct SimilarityTally {
  std::uint64_t count = 0;
  std::uint64_t finite = 0;  // elements that take part
  std::uint64_t mismatches = 0;
  std::uint64_t first_mismatch = 0;  // its place; holds where there is a mismatch
  double mismatch_device = 0;
  double mismatch_bench = 0;

  double dot = 0;
  double dot_imaginary = 0;
  double device_squares = 0;
  double bench_squares = 0;
  double error_squares = 0;
  double error_sum = 0;
  double max_abs_error = 0;
  double max_relative_error = 0;
  std::uint64_t beyond_1000 = 0;  // relative error not below 0.001
  std::uint64_t beyond_200 = 0;   // relative error not below 0.005

  SideTally device;  // these two by RelativeRule::kPlain only
  SideTally bench;
};

struct Similarity {
  double cosine = 0;
  double cosine_distance = 0;  // 1 - cosine, with digits where the cosine is nearly 1
  double euclidean_distance = 0;
  double max_abs_error = 0;
  double mean_abs_error = 0;
  double max_relative_error = 0;
  double within_1000 = 0;  // share of the elements that take part
  double within_200 = 0;
};

// Places count from `first`, that of the first element of the views. REQUIRES: equal element
// counts. The vector kernel. Counts and maxima are the plain loop's; sums differ by no more than
// 2^-18 of the sum of magnitudes, which is seldom more than 1e-8, and of float64 by the order of
// the terms only.
SimilarityTally tally_similarity(const TensorView& device, const TensorView& bench,
                                 std::uint64_t first);
// The plain loop that defines it.
SimilarityTally tally_similarity_plainly(const TensorView& device, const TensorView& bench,
                                         std::uint64_t first);
// Both with the relative errors of `rule`.
SimilarityTally tally_similarity_by(RelativeRule rule, const TensorView& device,
                                    const TensorView& bench, std::uint64_t first);
SimilarityTally tally_similarity_plainly_by(RelativeRule rule, const TensorView& device,
                                            const TensorView& bench, std::uint64_t first);

SideTally tally_side(const TensorView& view);

// Adds the part that follows `total`.
void merge(SimilarityTally& total, const SimilarityTally& part);
void merge(SideTally& total, const SideTally& part);

// The products of D / device_scale and B / bench_scale, for pairs whose squares leave the range of
// double; they replace those of a tally.
SimilarityTally scaled_products(const TensorView& device, const TensorView& bench,
                                double device_scale, double bench_scale);
// Whether they are needed.
bool needs_scaled_products(const SimilarityTally& tally);

Similarity finish(const SimilarityTally& tally, bool is_complex);

// One block of doubles, element by element: what the kernel leaves to the definition.
void add_plainly(SimilarityTally& tally, RelativeRule rule, std::span<const double> device,
                 std::span<const double> bench, std::uint64_t first);

}  // namespace msprobe::measure
