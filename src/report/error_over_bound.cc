// SPDX-License-Identifier: Apache-2.0
#include "report/error_over_bound.h"

#include <charconv>
#include <limits>

#include "report/report_data.h"

namespace msprobe::report {
namespace {

// The number between `before` and `after`; the last one, because a reason can quote another.
double number_between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t end = text.rfind(after);
  if (end == std::string_view::npos) return kNoNumber;
  const std::size_t start = text.rfind(before, end);
  if (start == std::string_view::npos) return kNoNumber;
  const std::string_view digits = text.substr(start + before.size(), end - start - before.size());
  double number = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc() && rest == digits.data() + digits.size();
  return whole ? number : kNoNumber;
}

}  // namespace

double error_over_bound(std::optional<Verdict> strict, std::string_view reason) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const bool failed = strict == Verdict::kError || strict == Verdict::kWarning;
  if (failed) {
    const double times = number_between(reason, ", ", " times its bound");
    if (times != kNoNumber) return times;
    const bool beyond = reason.find(" beyond the bound") != std::string_view::npos ||
                        reason.find(" elements differ, first at ") != std::string_view::npos;
    return beyond ? kInfinite : kNoNumber;
  }
  if (strict != Verdict::kPass) return kNoNumber;
  const double share = number_between(reason, "by at most ", " of the bound");
  if (share != kNoNumber) return share;
  const bool equal = reason == "equal" || reason.ends_with("; equal") ||
                     reason.ends_with("equal to the rounded benchmark");
  return equal ? 0 : kNoNumber;
}

}  // namespace msprobe::report
