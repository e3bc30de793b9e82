#include "strict/cause.h"

namespace msprobe::strict {

std::string likely_cause(const Failure& failure, execute::Rerun& rerun) {
  std::string cause = pattern_cause(failure);
  if (cause.empty()) cause = arithmetic_cause(failure, rerun);
  if (cause.empty()) cause = region_cause(failure);
  if (cause.empty()) cause = rest_cause(failure);
  return cause;
}

}  // namespace msprobe::strict
