// SPDX-License-Identifier: Apache-2.0
// Measures the distance between two recorded tensors, and between two calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "divergence/recorded_run.h"

namespace msprobe::divergence {

// Two correct runs on different devices stay below this share (relative to the golden tensor's own
// size), or below four spacings of their dtype where that is more: bfloat16 0.031.
inline constexpr double kAgreement = 0.01;
inline constexpr double kAgreementSpacings = 4;

// A call introduces a difference when it makes that of its inputs this much larger; less is what
// rounding and cancellation do to an error that was there before.
inline constexpr double kAmplification = 10;
// Inputs that are further apart than this neither clear a call nor make it the cause.
inline constexpr double kMostInputDifference = 0.1;

// Relative difference of two tensors of one form by their recorded values: the largest of norm,
// maximum and minimum against the largest magnitude, mean against the root mean square. Unequal
// checksums make it 1 where `exact` is set, equal ones 0 unless the values contradict them.
// Infinite: NaN or infinity on one side, another shape, or golden zero against something.
double difference(const RunTensor& target, const RunTensor& golden, bool exact);

// Whether that is no more than rounding explains.
double tolerance(const RunTensor& target, const RunTensor& golden);

struct Worst {
  double difference = 0;  // of the tensor that is furthest beyond its tolerance
  double excess = 0;      // that difference / its tolerance; above 1: they differ
  std::size_t index = 0;
  bool comparable = true;  // the two lists have the same forms

  bool agrees() const { return comparable && excess <= 1; }
};
Worst worst_of(std::span<const RunTensor> target, std::span<const RunTensor> golden, bool exact);

// Whether no tensor differs by more than `share` of its tolerance; stops at the first that does.
bool agree(std::span<const RunTensor> target, std::span<const RunTensor> golden, bool exact,
           double share = 1);

// A number that is near for lists of tensors with near values, and far for others; to find
// candidates by binary search. `slack` is by how much it moves at most, for each 1 of relative
// difference.
double fingerprint(std::span<const RunTensor> tensors, bool exact);
double slack(std::span<const RunTensor> tensors);

std::uint64_t form_of(std::span<const RunTensor> tensors);

}  // namespace msprobe::divergence
