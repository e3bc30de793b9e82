// SPDX-License-Identifier: Apache-2.0
// What fits the pattern of an error. A hypothesis that can be computed is computed and compared
// with what the device gave; nothing is named where nothing fits.
#pragma once

#include <string>
#include <string_view>

#include "execute/rerun.h"
#include "strict/failure.h"

namespace msprobe::cause {

using strict::Failure;

// As strict::NameCause.
std::string name_cause(const Failure& failure, execute::Rerun* rerun);

// What the name of a cause begins with, where others ask for it.
inline constexpr std::string_view kCoarseRounding = "coarse rounding";

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

}  // namespace msprobe::cause
