// SPDX-License-Identifier: Apache-2.0
// What fits the pattern of an error. A hypothesis that can be computed is computed and compared
// with what the device gave; nothing is named where nothing fits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "execute/rerun.h"
#include "strict/conditioning.h"
#include "strict/float_type.h"
#include "strict/scan.h"

namespace msprobe::strict {

// An output or gradient that is beyond its bound.
struct Failure {
  at::Tensor device;  // plain
  at::Tensor bench;   // plain
  Limits limits;      // that it is beyond
  FloatType type;
  Direction direction = Direction::kForward;
  std::string path;
  std::string_view bare_name;
  std::vector<at::Tensor> other_benches;  // of this direction, where another output has this shape
  execute::Variation how;                 // in which way the benchmark ran
};

// What the name of a cause begins with, where others ask for it.
inline constexpr std::string_view kCoarseRounding = "coarse rounding";

// Empty if nothing fits.
std::string likely_cause(const Failure& failure, execute::Rerun& rerun);

// By the numbers alone, without running the call again.
std::string visible_cause(const Failure& failure);
// Whole numbers show the same patterns, without a bound.
std::string whole_number_cause(const at::Tensor& device, const at::Tensor& bench,
                               Direction direction);

// The pieces, separately: what the error looks like ...
std::string pattern_cause(const Failure& failure);
// ... where it is ...
std::string region_cause(const Failure& failure);
// ... what is left to say of it ...
std::string rest_cause(const Failure& failure);
// ... and what a device computes that rounds its inputs or its sums.
std::string arithmetic_cause(const Failure& failure, execute::Rerun& rerun);
// As above, for sums in a half type alone, where the device's results follow from computing them
// so.
std::string computed_sums_cause(const Failure& failure, execute::Rerun& rerun);

}  // namespace msprobe::strict
