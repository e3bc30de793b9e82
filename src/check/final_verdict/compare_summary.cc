// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/compare_summary.h"

#include <fmt/format.h>

#include "core/json_writer.h"
#include "final_verdict/strict_verdict.h"
#include "tables/text_table.h"

namespace msprobe::final_verdict {
namespace {

constexpr std::size_t kShownCalls = 20;

std::string verdict_text(std::optional<Verdict> verdict) {
  return verdict ? std::string(name(*verdict)) : "-";
}

bool row_is_wrong(const documented::ResultRow& row) {
  for (std::size_t i = 0; i < kStrictVerdicts; ++i) {
    const auto verdict = static_cast<StrictVerdict>(i);
    if (row.strict_verdict == name(verdict)) return is_wrong(verdict);
  }
  return false;
}

Verdict documented(const documented::ResultRow& row) {
  return worse(row.forward.value_or(Verdict::kSkip), row.backward.value_or(Verdict::kSkip));
}

std::vector<std::string> count_row(std::string_view title, const VerdictCounts& counts) {
  return {std::string(title),           std::to_string(counts.pass), std::to_string(counts.warning),
          std::to_string(counts.error), std::to_string(counts.skip), std::to_string(counts.blank)};
}

void write_counts(JsonWriter& json, std::string_view key, const VerdictCounts& counts) {
  json.key(key).begin_object();
  json.key("pass").value(counts.pass).key("warning").value(counts.warning);
  json.key("error")
      .value(counts.error)
      .key("skip")
      .value(counts.skip)
      .key("none")
      .value(counts.blank);
  json.end_object();
}

}  // namespace

void CompareSummary::add(const documented::ResultRow& row) {
  if (first_skip_.empty() && row.forward == Verdict::kSkip) {
    first_skip_ = row.api_name + ": " + row.message;
  }
  const bool wrong = row_is_wrong(row);
  const bool without_verdict = row.strict_verdict == name(StrictVerdict::kRaised) ||
                               row.strict_verdict == name(StrictVerdict::kLost);
  const bool fails = without_verdict || counts_as_failed(fail_on_, documented(row), row.strict);
  if (fails) ++failing_;
  if (!wrong && !fails) return;
  ++to_look_at_;
  auto& rows = wrong ? wrong_ : failed_;
  if (rows.size() < kShownCalls) rows.push_back(row);
}

std::string CompareSummary::worst_calls(bool with_strict, bool colour) const {
  tables::TextTable table{{"API", "Forward", "Backward"}, {}};
  if (with_strict) table.titles.emplace_back("Strict verdict");
  for (const auto* rows : {&wrong_, &failed_}) {
    for (const documented::ResultRow& row : *rows) {
      if (table.rows.size() == kShownCalls) break;
      table.rows.push_back({row.api_name, verdict_text(row.forward), verdict_text(row.backward)});
      if (with_strict) table.rows.back().push_back(row.strict_verdict);
    }
  }
  if (table.rows.empty()) return "";
  std::string text = tables::render(table, colour);
  if (to_look_at_ > table.rows.size()) {
    text += fmt::format("... and {} more\n", to_look_at_ - table.rows.size());
  }
  return text + "\n";
}

std::string CompareSummary::text(const PrecisionOutcome& outcome, bool colour) const {
  const StrictCounts& strict = outcome.strict;
  std::string text;
  if (strict.judged() > 0) {
    text += fmt::format(
        "strict verdict of {} calls: {} pass, {} device wrong, {} both wrong, {} documented "
        "only",
        strict.judged(), strict.pass, strict.device_wrong, strict.both_wrong,
        strict.documented_only);
    if (strict.inconclusive > 0) text += fmt::format(", {} inconclusive", strict.inconclusive);
    text += "\n\n";
  }
  if (strict.raised > 0) {
    text += fmt::format("{} call{} not run on the device\n\n", strict.raised,
                        strict.raised == 1 ? " does" : "s do");
  }
  text += worst_calls(strict.judged() + strict.raised + strict.lost > 0, colour);
  const tables::TextTable counts{
      {"", "pass", "warning", "error", "SKIP", "none"},
      {count_row("forward", outcome.forward), count_row("backward", outcome.backward)}};
  text += tables::render(counts, false) + "\n";
  text += fmt::format("{} calls compared, {} fail; documented result: {}\n", outcome.calls,
                      failing_, name(outcome.worst()));
  if (outcome.npu_only + outcome.gpu_only + outcome.repeated + outcome.not_same +
          outcome.invalid_names >
      0) {
    text += fmt::format(
        "rows left out: {} only in the NPU file, {} only in the GPU file, {} repeated there, "
        "{} of another dtype or shape, {} with an invalid name\n",
        outcome.npu_only, outcome.gpu_only, outcome.repeated, outcome.not_same,
        outcome.invalid_names);
  }
  text += fmt::format("result   {}\ndetails  {}\n", outcome.result_csv.string(),
                      outcome.details_csv.string());
  return text;
}

std::string CompareSummary::json(const PrecisionOutcome& outcome) const {
  JsonWriter json;
  json.begin_object();
  json.key("verdict").value(name(outcome.worst()));
  json.key("calls").value(outcome.calls).key("failing").value(failing_);
  write_counts(json, "forward", outcome.forward);
  write_counts(json, "backward", outcome.backward);
  write_counts(json, "rows", outcome.rows);
  if (outcome.strict.judged() > 0) {
    json.key("strict").begin_object().key("pass").value(outcome.strict.pass);
    json.key("device_wrong").value(outcome.strict.device_wrong);
    json.key("both_wrong").value(outcome.strict.both_wrong);
    json.key("documented_only").value(outcome.strict.documented_only);
    json.key("inconclusive").value(outcome.strict.inconclusive).end_object();
  }
  json.key("raised").value(outcome.strict.raised).key("lost").value(outcome.strict.lost);
  json.key("npu_only").value(outcome.npu_only).key("gpu_only").value(outcome.gpu_only);
  json.key("repeated").value(outcome.repeated).key("not_same").value(outcome.not_same);
  json.key("invalid_names").value(outcome.invalid_names);
  json.key("result_csv").value(outcome.result_csv.string());
  json.key("details_csv").value(outcome.details_csv.string());
  json.end_object();
  return json.text();
}

}  // namespace msprobe::final_verdict
