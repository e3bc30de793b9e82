#include "torchair/row.h"

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

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kNone:
      break;
  }
  return "N/A";
}

std::string_view name(Rule rule) {
  switch (rule) {
    case Rule::kFxName:
      return "fx_name";
    case Rule::kEdge:
      return "edge";
    case Rule::kValue:
      return "value";
    case Rule::kName:
      return "name";
    case Rule::kMember:
      return "member";
    case Rule::kOriginalOp:
      return "original_op";
    case Rule::kNone:
      break;
  }
  return "";
}

std::string_view name(Side side) { return side == Side::kInput ? "input" : "output"; }

void set_unmatched(Row& row, std::string reason) {
  if (row.status == Status::kUnreadable) return;
  row.status = Status::kUnmatched;
  row.reason = std::move(reason);
}

}  // namespace msprobe::torchair
