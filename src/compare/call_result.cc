#include "compare/call_result.h"

#include "compare/texts.h"

namespace msprobe::compare {

using judge::Profile;
using judge::ResultRow;
using judge::Verdict;

std::optional<Verdict> CallResult::Direction::verdict() const {
  if (rows == 0) return std::nullopt;
  if (error) return Verdict::kError;
  if (warning) return Verdict::kWarning;
  return pass ? Verdict::kPass : Verdict::kSkip;
}

void CallResult::add(const ComparedRow& row, bool forward) {
  Direction& direction = forward ? forward_ : backward_;
  ++direction.rows;
  direction.error |= row.row.result == Verdict::kError;
  direction.warning |= row.row.result == Verdict::kWarning;
  direction.pass |= row.row.result == Verdict::kPass;
  direction.all_unsupported &= row.unsupported_dtype;
  direction.last_message = row.row.message;
  last_unsupported_ = row.unsupported_dtype;
}

ResultRow CallResult::conclude(const Rules& rules) const {
  ResultRow result{.api_name = call_,
                   .forward = forward_.verdict(),
                   .backward = backward_.verdict(),
                   .message = {}};
  const std::string_view unsupported = kUnsupportedDtype.in(rules.titles);
  if (rules.profile == Profile::kReference && last_unsupported_) {
    result.forward = result.backward = Verdict::kSkip;
    result.message = unsupported;
    return result;
  }
  if (result.forward == Verdict::kSkip) {
    const bool by_dtype = rules.profile == Profile::kDocumented && forward_.all_unsupported;
    result.message = by_dtype ? std::string(unsupported) : forward_.last_message;
  } else if (result.forward == Verdict::kError && api_ == "topk") {
    result.message = kTopkUnsorted.in(rules.titles);
  } else if (rules.profile == Profile::kDocumented && result.backward == Verdict::kSkip) {
    result.message = backward_.all_unsupported ? std::string(unsupported) : backward_.last_message;
  }
  return result;
}

}  // namespace msprobe::compare
