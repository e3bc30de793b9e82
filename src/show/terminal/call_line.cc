// SPDX-License-Identifier: Apache-2.0
#include "terminal/call_line.h"

#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "report/answer.h"

namespace msprobe::terminal {
namespace {

using report::ReportCall;
using report::ReportRow;
using report::ReportRun;
using report::Standing;

constexpr std::size_t kLongestDetail = 48;   // of a cause; the rest is in the report
constexpr std::size_t kLongestReason = 72;   // that is shown in place of one
constexpr std::size_t kLongestRaised = 100;  // of what was raised

std::string_view without(std::string_view text, std::string_view start, std::string_view end) {
  if (text.starts_with(start)) text.remove_prefix(start.size());
  return text.substr(0, text.find(end));
}

std::span<const ReportRow> rows_of(const ReportRun& run, const ReportCall& call) {
  return std::span(run.rows).subspan(call.first_row, call.row_count);
}

// "proves little: it is all zero" of "proves little: it is all zero; equal".
std::string doubt_of(const ReportRun& run, const ReportCall& call) {
  for (const ReportRow& row : rows_of(run, call)) {
    if (row.strict != Verdict::kInconclusive) continue;
    return row.strict_reason.substr(0, row.strict_reason.find(';'));
  }
  return {};
}

// One direction does not run, and the other is wrong.
std::string also_wrong(const ReportRun& run, const ReportCall& call) {
  if (!is_alarm(call.strict)) return {};
  const ReportRow* row = report::telling_row(run, call);
  return fmt::format("also wrong: {}{}{}", bound_text(report::worst_over_bound(run, call)),
                     row != nullptr ? ", " : "", row != nullptr ? cause_of(*row) : std::string());
}

std::string reason_of(const ReportRun& run, const ReportCall& call, Mark mark) {
  if (mark == Mark::kLost) return report::why(run, call);
  if (mark == Mark::kRaised) return does_not_run(report::why(run, call));
  if (mark == Mark::kInconclusive) return doubt_of(run, call);
  const ReportRow* row = report::telling_row(run, call);
  if (row != nullptr) return cause_of(*row);
  if (mark != Mark::kFlag) return call.strict ? std::string(kNoPattern) : report::why(run, call);
  return fmt::format("documented thresholds only: {}", report::why(run, call));
}

}  // namespace

Mark mark_of(const ReportCall& call) {
  switch (report::standing(call)) {
    case Standing::kWrong:
      return Mark::kFail;
    case Standing::kSlight:
      return Mark::kWarn;
    case Standing::kDocumentedOnly:
      return Mark::kFlag;
    case Standing::kLost:
      return Mark::kLost;
    case Standing::kRaised:
      return Mark::kRaised;
    case Standing::kInconclusive:
      return Mark::kInconclusive;
    case Standing::kPass:
    case Standing::kSkipped:
      break;
  }
  return Mark::kNone;
}

Field mark_field(Mark mark) {
  static const std::array<Field, 7> kFields{Field{"", Paint::kPlain},
                                            Field{"FAIL", Paint::kRed},
                                            Field{"WARN", Paint::kYellow},
                                            Field{"FLAG", Paint::kYellow},
                                            Field{"LOST", Paint::kRed},
                                            Field{"RAISED", Paint::kRed},
                                            Field{"INCONCLUSIVE", Paint::kYellow}};
  return kFields[static_cast<std::size_t>(mark)];
}

bool has_line(Mark mark, FailOn fail_on) {
  switch (mark) {
    case Mark::kNone:
      return false;
    case Mark::kFail:
    case Mark::kWarn:
    case Mark::kLost:
    case Mark::kRaised:
      return true;
    case Mark::kFlag:
      return by_documents(fail_on);
    case Mark::kInconclusive:
      return fail_on == FailOn::kInconclusive;
  }
  return true;
}

std::string does_not_run(std::string_view error) {
  const bool whole = shown_width(error) <= kLongestRaised;
  std::size_t cut = whole ? error.size() : error.rfind(' ', kLongestRaised);
  if (cut == std::string_view::npos) cut = kLongestRaised;
  return fmt::format("does not run on the device: {}{}", error.substr(0, cut), whole ? "" : " ...");
}

std::string bound_text(double over_bound) {
  constexpr double kManyDigits = 1e7;
  if (over_bound == report::kNoNumber) return {};
  if (std::isnan(over_bound) || std::isinf(over_bound)) return "inf x bound";
  if (over_bound >= kManyDigits) return fmt::format("{:.1e} x bound", over_bound);
  if (over_bound < 100) return fmt::format("{:.2g} x bound", over_bound);
  const double unit = std::pow(10, std::floor(std::log10(over_bound)) - 1);
  return fmt::format("{:.0f} x bound", std::round(over_bound / unit) * unit);
}

std::string short_cause(std::string_view cause) {
  const std::size_t colon = cause.find_first_of(":;");
  const std::string_view name = cause.substr(0, colon);
  if (colon == std::string_view::npos || cause[colon] == ';') return std::string(name);
  std::string_view detail = cause.substr(colon + 1);
  while (detail.starts_with(' ')) detail.remove_prefix(1);
  detail = without(detail.substr(0, detail.find(';')), "sums without the ", " leave ");
  detail = without(detail, "", " give an error of this size");
  if (detail.size() <= kLongestDetail) {
    const bool has_brackets = detail.starts_with('(') && detail.ends_with(')');
    return has_brackets ? fmt::format("{} {}", name, detail) : fmt::format("{} ({})", name, detail);
  }
  const std::size_t cut = detail.rfind(' ', kLongestDetail);
  return fmt::format("{} ({} ...)", name, detail.substr(0, cut));
}

std::string cause_of(const ReportRow& row) {
  std::string_view reason = row.strict_reason;
  if (row.likely_cause.find_first_of(":;") != std::string::npos || reason.empty() ||
      reason.size() > kLongestReason) {
    return short_cause(row.likely_cause);
  }
  for (const std::string_view word : {"dtype ", "shape "}) {
    if (reason.starts_with(word)) reason.remove_prefix(word.size());
  }
  return fmt::format("{} ({})", row.likely_cause, reason);
}

std::string wrong_directions(const ReportRun& run, const ReportCall& call) {
  const Mark mark = mark_of(call);
  const auto concerns = [&](const ReportRow& row) {
    if (mark == Mark::kRaised) return report::raised(row);
    if (mark == Mark::kInconclusive) return row.strict == Verdict::kInconclusive;
    const bool within = !is_alarm(call.strict);  // else the strict status tells
    return is_alarm(row.strict) || (within && is_alarm(row.status));
  };
  std::array<bool, 2> wrong{};
  for (const ReportRow& row : rows_of(run, call)) {
    if (concerns(row)) wrong[report::in_first_direction(run, row) ? 0 : 1] = true;
  }
  std::string text;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    if (wrong[i]) text += fmt::format("{}{}", text.empty() ? "" : ", ", run.directions[i]);
  }
  return text;
}

std::string module_text(const ReportCall& call) {
  return call.site.module.empty() ? "" : "module " + call.site.module;
}

std::string call_line(const ReportRun& run, const ReportCall& call, const Style& style) {
  constexpr std::size_t kGap = 3;
  constexpr std::size_t kIndent = 5;
  const Mark mark = mark_of(call);
  const Field label = mark_field(mark);
  // The name keeps close to its label.
  std::string line = painted(label.text, label.paint, style.colour) + " ";
  Style rest = style;
  rest.columns = style.columns > kIndent + 1 ? style.columns - kIndent : 1;
  const bool has_bound = mark != Mark::kRaised && mark != Mark::kInconclusive;
  const std::array<Field, 7> fields{
      Field{call.name, Paint::kBold},
      Field{wrong_directions(run, call), Paint::kPlain},
      Field{has_bound ? bound_text(report::worst_over_bound(run, call)) : "", Paint::kPlain},
      Field{reason_of(run, call, mark), Paint::kPlain},
      Field{mark == Mark::kRaised ? also_wrong(run, call) : "", Paint::kPlain},
      Field{module_text(call), Paint::kPlain},
      Field{report::source_line(run, call), Paint::kDim}};
  std::string text = flow(fields, kGap, 0, rest);
  for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1)) {
    text.insert(at + 1, kIndent, ' ');
  }
  return line + text;
}

}  // namespace msprobe::terminal
