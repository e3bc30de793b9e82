// SPDX-License-Identifier: Apache-2.0
#include "check_json.h"

#include <fmt/format.h>

#include "core/json_writer.h"
#include "report/answer.h"
#include "terminal/call_line.h"

namespace msprobe::app {
namespace {

using report::ReportCall;
using report::ReportRun;

void add_call(JsonWriter& json, const ReportRun& run, const ReportCall& call, FailOn fail_on) {
  const terminal::Mark mark = terminal::mark_of(call);
  if (!terminal::has_line(mark, fail_on)) return;
  json.begin_object();
  json.key("name").value(call.name).key("kind").value(name(report::standing(call)));
  json.key("directions").value(terminal::wrong_directions(run, call));
  const double size = report::worst_over_bound(run, call);
  json.key("error_over_bound");
  if (size == report::kNoNumber) {
    json.null();
  } else {
    json.value(size);
  }
  json.key("cause").value(report::why(run, call));
  json.key("source_line").value(report::source_line(run, call));
  json.key("module").value(call.site.module);
  json.key("rerun").value(run.rerun.text_for(call.name));
  json.end_object();
}

void add_summary(JsonWriter& json, const CheckSummary& summary) {
  const auto& [place, outcome, status, fail_on, run] = summary;
  const check::Coverage& coverage = outcome.coverage;
  json.begin_object();
  if (!place.empty()) json.key("place").value(place);
  json.key("exit_status").value(static_cast<int>(status));
  json.key("recorded").value(coverage.recorded).key("checked").value(coverage.checked());
  json.key("passed").value(coverage.passed).key("warned").value(coverage.warned);
  json.key("failed").value(coverage.failed).key("lost").value(coverage.lost);
  json.key("raised").value(coverage.raised);
  if (coverage.has_strict()) {
    json.key("strict").begin_object();
    json.key("passed").value(coverage.strict_passed).key("warned").value(coverage.strict_warned);
    json.key("failed").value(coverage.strict_failed);
    json.key("inconclusive").value(coverage.strict_inconclusive);
    json.key("otherwise_skipped").value(coverage.strict_only).end_object();
  }
  json.key("skipped").begin_object();
  for (const auto& [reason, calls] : coverage.skipped) json.key(reason).value(calls);
  json.end_object();
  json.key("repeats").value(coverage.repeats).key("not_selected").value(coverage.not_selected);
  json.key("other_shards").value(coverage.other_shards);
  json.key("device").value(outcome.device).key("interrupted").value(outcome.interrupted);
  json.key("result_csv").value(outcome.paths.result.string());
  json.key("details_csv").value(outcome.paths.details.string());
  // Within their bound; the failures have them only if --fail-on counts them.
  json.key("documented_only").value(report::answer_of(run).flagged);
  json.key("failures").begin_array();
  for (const ReportCall& call : run.calls) add_call(json, run, call, fail_on);
  json.end_array();
  json.end_object();
}

}  // namespace

std::string check_json(const CheckSummary& summary) {
  JsonWriter json;
  add_summary(json, summary);
  return json.text();
}

std::string checks_json(std::span<const CheckSummary> summaries, ExitStatus status) {
  JsonWriter json;
  json.begin_object();
  json.key("exit_status").value(static_cast<int>(status));
  json.key("checks").begin_array();
  for (const CheckSummary& summary : summaries) add_summary(json, summary);
  json.end_array().end_object();
  return json.text();
}

}  // namespace msprobe::app
