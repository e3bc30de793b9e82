// SPDX-License-Identifier: Apache-2.0
#include "report/changes_text.h"

#include <fmt/format.h>

#include "core/json_writer.h"
#include "report/answer.h"
#include "tables/text_table.h"

namespace msprobe::report {
namespace {

std::string over_bound_text(const ReportRun& run, const ReportCall& call) {
  const double size = worst_over_bound(run, call);
  return size == kNoNumber ? "" : fmt::format("{:.3g} x bound", size);
}

std::string cause_text_of(const ReportRun& run, const ReportCall& call) {
  const std::string text = why(run, call);
  return raised_row(run, call) == nullptr ? text : "does not run on the device: " + text;
}

std::string calls_text(std::string_view title, const ReportRun& run,
                       const std::vector<std::size_t>& calls) {
  if (calls.empty()) return {};
  tables::TextTable table{{fmt::format("{} ({})", title, calls.size()), "Error", "Cause", "Line"},
                          {}};
  for (const std::size_t i : calls) {
    const ReportCall& call = run.calls[i];
    table.rows.push_back(
        {call.name, over_bound_text(run, call), cause_text_of(run, call), source_line(run, call)});
  }
  return tables::render(table, false) + "\n";
}

void write_calls(JsonWriter& json, std::string_view key, const ReportRun& run,
                 const std::vector<std::size_t>& calls) {
  json.key(key).begin_array();
  for (const std::size_t i : calls) {
    json.begin_object().key("call").value(run.calls[i].name);
    json.key("cause").value(why(run, run.calls[i])).end_object();
  }
  json.end_array();
}

}  // namespace

void write_changes(JsonWriter& json, const ReportRun& older, const ReportRun& newer,
                   const Changes& changes) {
  write_calls(json, "new", newer, changes.appeared);
  write_calls(json, "fixed", older, changes.fixed_in_older);
  write_calls(json, "still_failing", newer, changes.still);
  json.key("in_both").value(changes.in_both).key("only_old").value(changes.only_old);
  json.key("only_new").value(changes.only_new);
}

std::string changes_json(const ReportRun& older, const ReportRun& newer, const Changes& changes) {
  JsonWriter json;
  json.begin_object();
  write_changes(json, older, newer, changes);
  json.end_object();
  return json.text();
}

std::string changed_calls_text(const ReportRun& older, const ReportRun& newer,
                               const Changes& changes) {
  return calls_text("New failures", newer, changes.appeared) +
         calls_text("Fixed", older, changes.fixed_in_older) +
         calls_text("Still failing", newer, changes.still);
}

std::string changes_counts(const Changes& changes) {
  return fmt::format(
      "{} new, {} fixed, {} still failing; {} calls in both, {} only in the old, {} only "
      "in the new\n",
      changes.appeared.size(), changes.fixed.size(), changes.still.size(), changes.in_both,
      changes.only_old, changes.only_new);
}

std::string changes_text(const ReportRun& older, const ReportRun& newer, const Changes& changes) {
  return changed_calls_text(older, newer, changes) + changes_counts(changes);
}

}  // namespace msprobe::report
