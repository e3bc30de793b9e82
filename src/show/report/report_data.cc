// SPDX-License-Identifier: Apache-2.0
#include "report/report_data.h"

#include <algorithm>
#include <span>

#include "core/call_name.h"

namespace msprobe::report {
namespace {

std::string_view first_line(std::string_view text) {
  while (text.starts_with('\n') || text.starts_with(' ')) text.remove_prefix(1);
  return text.substr(0, text.find('\n'));
}

// The last line, without what every message says: the step of the ladder that decided.
std::string shortened(std::string_view message) {
  while (message.ends_with('\n') || message.ends_with(' ')) message.remove_suffix(1);
  if (const std::size_t line = message.rfind('\n'); line != std::string_view::npos) {
    message.remove_prefix(line + 1);
  }
  constexpr std::string_view kError = "ERROR: ";
  if (message.starts_with(kError)) message.remove_prefix(kError.size());
  return std::string(message.substr(0, message.find(", consider as ")));
}

}  // namespace

Verdict ReportCall::worst() const {
  return worse(forward.value_or(Verdict::kSkip), backward.value_or(Verdict::kSkip));
}

bool in_first_direction(const ReportRun& run, const ReportRow& row) {
  return !row.part.starts_with(run.directions[1]);
}

const StackFrame* own_frame(const Stack& stack) {
  const auto own = std::ranges::find_if(
      stack, [](const StackFrame& frame) { return !frame.library && !frame.file.empty(); });
  return own == stack.end() ? nullptr : &*own;
}

std::string call_dtype(const ReportRun& run, const ReportCall& call) {
  constexpr std::string_view kRecorded = ", recorded is ";  // as strict/judge_call.cc says it
  for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
    const ReportRow& row = run.rows[i];
    const std::size_t at = row.strict_reason.find(kRecorded);
    if (row.strict_reason.starts_with("dtype ") && at != std::string::npos) {
      const std::string_view recorded =
          std::string_view(row.strict_reason).substr(at + kRecorded.size());
      return std::string(recorded.substr(0, recorded.find_first_of(" ,;")));
    }
    if (!row.device_dtype.empty()) return row.device_dtype;
  }
  return {};
}

const ReportRow* telling_row(const ReportRun& run, const ReportCall& call) {
  const ReportRow* found = nullptr;
  double farthest = 0;
  for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
    const ReportRow& row = run.rows[i];
    if (row.likely_cause.empty()) continue;
    const double size = row.error_over_bound;
    if (found == nullptr || size > farthest) {
      found = &row;
      farthest = size;
    }
  }
  return found;
}

const ReportRow* raised_row(const ReportRun& run, const ReportCall& call) {
  const auto rows = std::span(run.rows).subspan(call.first_row, call.row_count);
  const auto found = std::ranges::find_if(rows, [](const ReportRow& row) { return raised(row); });
  return found == rows.end() ? nullptr : &*found;
}

std::string why(const ReportRun& run, const ReportCall& call) {
  if (const ReportRow* row = raised_row(run, call)) return raised_text(*row);
  if (const ReportRow* row = telling_row(run, call)) return row->likely_cause;
  const ReportRow* worst = nullptr;
  const ReportRow* strict = nullptr;
  for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
    const ReportRow& row = run.rows[i];
    if (is_alarm(row.status) && (worst == nullptr || row.status > worst->status)) worst = &row;
    if (is_alarm(row.strict) && strict == nullptr) strict = &row;
  }
  // The strict status decides; the documents' message is about fixed limits.
  if (strict != nullptr && !strict->strict_reason.empty()) return strict->strict_reason;
  if (worst != nullptr) return shortened(worst->message);
  if (call.worst() != Verdict::kSkip) return {};
  const bool told = !call.message.empty() || call.row_count == 0;
  return std::string(first_line(told ? call.message : run.rows[call.first_row].message));
}

std::string_view bare_api(std::string_view call) {
  const std::string_view api = api_of(call);
  const std::size_t dot = api.find('.');
  return dot == std::string_view::npos ? api : api.substr(dot + 1);
}

bool raised(const ReportRow& row) { return row.status == Verdict::kSkip && is_raised(row.skip); }

std::string raised_text(const ReportRow& row) {
  std::string_view text = row.message;
  text.remove_prefix(text.find(':') + 1);  // the reason
  return std::string(first_line(text));
}

}  // namespace msprobe::report
