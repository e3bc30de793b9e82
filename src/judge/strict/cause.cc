// SPDX-License-Identifier: Apache-2.0
#include "strict/cause.h"

namespace msprobe::strict {

std::string likely_cause(const Failure& failure, execute::Rerun& rerun) {
  std::string cause = pattern_cause(failure);
  if (cause.starts_with(kCoarseRounding)) {  // sums that are rounded coarsely do not look different
    if (std::string sums = computed_sums_cause(failure, rerun); !sums.empty()) cause = sums;
  }
  if (cause.empty()) cause = arithmetic_cause(failure, rerun);
  if (cause.empty()) cause = region_cause(failure);
  if (cause.empty()) cause = rest_cause(failure);
  return cause;
}

std::string visible_cause(const Failure& failure) {
  std::string cause = pattern_cause(failure);
  if (cause.empty()) cause = region_cause(failure);
  if (cause.empty()) cause = rest_cause(failure);
  return cause;
}

std::string whole_number_cause(const at::Tensor& device, const at::Tensor& bench,
                               Direction direction) {
  Failure failure;
  failure.device = device.to(at::kDouble);
  failure.bench = bench.to(at::kDouble);
  failure.type = *float_type(at::kDouble);
  failure.direction = direction;
  return visible_cause(failure);
}

}  // namespace msprobe::strict
