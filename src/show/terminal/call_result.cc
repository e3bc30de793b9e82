// SPDX-License-Identifier: Apache-2.0
#include "terminal/call_result.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "report/answer.h"
#include "terminal/call_line.h"

namespace msprobe::terminal {
namespace {

using report::ReportCall;
using report::ReportRow;
using report::ReportRun;

constexpr std::size_t kIndent = 4;

Paint paint_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return Paint::kGreen;
    case Verdict::kWarning:
    case Verdict::kInconclusive:
      return Paint::kYellow;
    case Verdict::kError:
      return Paint::kRed;
    case Verdict::kSkip:
      break;
  }
  return Paint::kPlain;
}

// "    label   value", the value on further lines where it is long.
std::string labelled(std::string_view label, std::string_view value, const Style& style) {
  if (value.empty()) return {};
  const std::array<Field, 2> fields{Field{fmt::format("    {:<10}", label), Paint::kDim},
                                    Field{std::string(value), Paint::kPlain}};
  return flow(fields, 1, kIndent + 2, style);
}

std::string metrics_text(const ReportRun& run, const ReportRow& row, const Style& style) {
  std::vector<Field> fields{{fmt::format("    {:<9}", "metrics"), Paint::kDim}};
  for (std::size_t i = 0; i < run.metrics.size() && i < row.numbers.size(); ++i) {
    if (row.numbers[i] == report::kNoNumber || !run.metrics[i].side.empty()) continue;
    fields.push_back({fmt::format("{} {:.6g}", run.metrics[i].title, row.numbers[i])});
  }
  constexpr std::size_t kGap = 2;
  return fields.size() > 1 ? flow(fields, kGap, kIndent + 2, style) : std::string();
}

std::string row_text(const ReportRun& run, const ReportRow& row, const Style& style) {
  if (report::raised(row)) {
    const std::array<Field, 2> said{Field{fmt::format("  {}", row.part), Paint::kBold},
                                    Field{does_not_run(report::raised_text(row)), Paint::kRed}};
    return flow(said, 3, kIndent, style);
  }
  const std::string documented = fmt::format("documented: {}", name(row.status));
  const std::string strict = row.strict ? fmt::format("strict: {}", name(*row.strict)) : "";
  const std::array<Field, 5> fields{
      Field{fmt::format("  {}", row.part), Paint::kBold}, Field{row.device_dtype, Paint::kPlain},
      Field{row.shape, Paint::kPlain}, Field{strict, paint_of(row.strict.value_or(Verdict::kSkip))},
      Field{documented, paint_of(row.status)}};
  std::string text = flow(fields, 3, kIndent, style);
  text += labelled("bound", row.strict_reason, style);
  text += labelled("cause", row.likely_cause, style);
  std::string message = row.message;
  std::ranges::replace(message, '\n', ' ');
  text += labelled("message", message, style);
  return text + metrics_text(run, row, style);
}

}  // namespace

std::string call_result(const ReportRun& run, const ReportCall& call, const Style& style) {
  const std::array<Field, 3> head{Field{call.name, Paint::kBold},
                                  Field{module_text(call), Paint::kPlain},
                                  Field{report::source_line(run, call), Paint::kDim}};
  std::string text = flow(head, 3, kIndent, style);
  std::string_view arguments = call.arguments;
  while (!arguments.empty()) {
    const std::size_t end = std::min(arguments.find('\n'), arguments.size());
    const std::string_view line = arguments.substr(0, end);
    const std::size_t tab = std::min(line.find('\t'), line.size());
    const std::array<Field, 2> fields{
        Field{fmt::format("  argument {}", line.substr(0, tab)), Paint::kDim},
        Field{std::string(line.substr(std::min(tab + 1, line.size()))), Paint::kPlain}};
    text += flow(fields, 2, kIndent, style);
    arguments.remove_prefix(std::min(end + 1, arguments.size()));
  }
  for (const ReportRow& row : std::span(run.rows).subspan(call.first_row, call.row_count)) {
    text += row_text(run, row, style);
  }
  return text;
}

}  // namespace msprobe::terminal
