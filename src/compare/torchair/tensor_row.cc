// SPDX-License-Identifier: Apache-2.0
#include "torchair/tensor_row.h"

namespace msprobe::torchair {

std::string_view name(Status status) {
  switch (status) {
    case Status::kPaired:
      return "paired";
    case Status::kUnmatched:
      return "unmatched";
    case Status::kUnreadable:
      break;
  }
  return "unreadable";
}

std::string_view name(RowVerdict verdict) {
  switch (verdict) {
    case RowVerdict::kPass:
      return "PASS";
    case RowVerdict::kFail:
      return "FAIL";
    case RowVerdict::kNone:
      break;
  }
  return "N/A";
}

std::string_view name(MatchRule rule) {
  switch (rule) {
    case MatchRule::kFxName:
      return "fx_name";
    case MatchRule::kEdge:
      return "edge";
    case MatchRule::kValue:
      return "value";
    case MatchRule::kName:
      return "name";
    case MatchRule::kMember:
      return "member";
    case MatchRule::kOriginalOp:
      return "original_op";
    case MatchRule::kNone:
      break;
  }
  return "";
}

void set_unmatched(TensorRow& row, std::string reason) {
  if (row.status == Status::kUnreadable) return;
  row.status = Status::kUnmatched;
  row.reason = std::move(reason);
}

}  // namespace msprobe::torchair
