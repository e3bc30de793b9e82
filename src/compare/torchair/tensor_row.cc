// SPDX-License-Identifier: Apache-2.0
#include "torchair/tensor_row.h"

namespace msprobe::torchair {

std::string_view status_text(Outcome outcome) {
  return is_paired(outcome)               ? "paired"
         : outcome == Outcome::kUnmatched ? "unmatched"
                                          : "unreadable";
}

std::string_view verdict_text(Outcome outcome) {
  return outcome == Outcome::kPass ? "PASS" : outcome == Outcome::kError ? "FAIL" : "N/A";
}

std::string_view name(MatchRule rule) {
  constexpr std::array<std::string_view, 7> kNames{"",     "fx_name", "edge",       "value",
                                                   "name", "member",  "original_op"};
  return kNames[static_cast<std::size_t>(rule)];
}

void set_unmatched(TensorRow& row, std::string reason) {
  if (row.outcome == Outcome::kSkipped) return;
  row.outcome = Outcome::kUnmatched;
  row.reason = std::move(reason);
}

}  // namespace msprobe::torchair
