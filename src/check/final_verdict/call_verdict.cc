// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/call_verdict.h"

#include <fmt/format.h>

#include "documented/judge.h"
#include "final_verdict/strict_verdict.h"
#include "final_verdict/texts.h"

namespace msprobe::final_verdict {

using documented::Profile;
using documented::ResultRow;

std::optional<Verdict> CallVerdict::Direction::verdict() const {
  if (rows == 0) return std::nullopt;
  if (error) return Verdict::kError;
  if (warning) return Verdict::kWarning;
  return pass ? Verdict::kPass : Verdict::kSkip;
}

namespace {

constexpr std::size_t kNamedFailures = 3;  // of one direction; the details have them all

std::string one_line(std::string_view message) {
  while (message.ends_with('\n')) message.remove_suffix(1);
  std::string line;
  for (const char c : message) c == '\n' ? line += "; " : line += c;
  return line;
}

void take_worse(std::optional<Verdict>& worst, std::optional<Verdict> verdict) {
  if (verdict) worst = worst ? worse(*worst, *verdict) : *verdict;
}

}  // namespace

void CallVerdict::add(const ComparedRow& row, bool forward) {
  Direction& direction = forward ? forward_ : backward_;
  const bool failed = row.row.result == Verdict::kError || row.row.result == Verdict::kWarning;
  if (failed && direction.failed++ < kNamedFailures) {
    documented::add_sentence(direction.failures,
                             fmt::format("{} output {}: {}", forward ? "forward" : "backward",
                                         direction.rows, one_line(row.row.message)));
  }
  for (const StrictVerdict skip : {StrictVerdict::kRaised, StrictVerdict::kLost}) {
    if (row.row.strict_verdict == name(skip) && skip_ != StrictVerdict::kRaised) skip_ = skip;
  }
  take_worse(strict_device_, row.row.strict_device);
  take_worse(strict_reference_, row.row.strict_reference);
  ++direction.rows;
  direction.error |= row.row.result == Verdict::kError;
  direction.warning |= row.row.result == Verdict::kWarning;
  direction.pass |= row.row.result == Verdict::kPass;
  direction.all_unsupported &= row.unsupported_dtype;
  direction.last_message = row.row.message;
  last_unsupported_ = row.unsupported_dtype;
}

ResultRow CallVerdict::conclude(const CompareRules& rules) const {
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
  if (rules.profile == Profile::kReference) {  // such rows do not count there
    if (forward_.all_unsupported) result.forward.reset();
    if (backward_.all_unsupported) result.backward.reset();
  }
  if (result.forward == Verdict::kSkip) {
    const bool by_dtype = rules.profile == Profile::kDocumented && forward_.all_unsupported;
    result.message = by_dtype ? std::string(unsupported) : forward_.last_message;
  } else if (result.forward == Verdict::kError && api_ == "topk") {
    result.message = kTopkUnsorted.in(rules.titles);
  } else if (rules.profile == Profile::kDocumented && result.backward == Verdict::kSkip) {
    result.message = backward_.all_unsupported ? std::string(unsupported) : backward_.last_message;
  }
  if (rules.profile == Profile::kReference) return result;
  for (const Direction* direction : {&forward_, &backward_}) {
    documented::add_sentence(result.message, direction->failures);
  }
  result.strict = strict_device_;
  result.strict_reference = strict_reference_;
  const bool fails = forward_.error || forward_.warning || backward_.error || backward_.warning;
  const bool skipped = skip_ != StrictVerdict::kNone;
  result.strict_verdict =
      name(skipped ? skip_ : strict_verdict(strict_device_, strict_reference_, fails));
  return result;
}

}  // namespace msprobe::final_verdict
