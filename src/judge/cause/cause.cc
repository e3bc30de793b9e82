// SPDX-License-Identifier: Apache-2.0
#include "cause/cause.h"

namespace msprobe::cause {
namespace {

// With the benchmark run again.
std::string computed_cause(const Failure& failure, execute::Rerun& rerun, std::string pattern) {
  if (pattern.starts_with(kCoarseRounding)) {  // coarsely rounded sums do not look different
    std::string sums = computed_sums_cause(failure, rerun);
    return sums.empty() ? pattern : sums;
  }
  return pattern.empty() ? arithmetic_cause(failure, rerun) : pattern;
}

}  // namespace

std::string name_cause(const Failure& failure, execute::Rerun* rerun) {
  std::string cause = failure.place_first ? region_cause(failure) : "";
  if (cause.empty()) cause = pattern_cause(failure);
  if (rerun != nullptr) cause = computed_cause(failure, *rerun, std::move(cause));
  if (cause.empty()) cause = region_cause(failure);
  if (cause.empty()) cause = rest_cause(failure);
  return cause;
}

}  // namespace msprobe::cause
