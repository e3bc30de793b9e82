// SPDX-License-Identifier: Apache-2.0
#include "report/calls_json.h"

#include <fmt/format.h>

#include "core/json_writer.h"
#include "report/answer.h"

namespace msprobe::report {
namespace {

void add_number(JsonWriter& json, double number) {
  if (number == kNoNumber) {
    json.null();
  } else {
    json.value(number);
  }
}

void add_verdict(JsonWriter& json, std::string_view key, std::optional<Verdict> verdict) {
  json.key(key);
  if (verdict) {
    json.value(name(*verdict));
  } else {
    json.null();
  }
}

// "Cosine similarity" of one device, "Cosine similarity (device)" beside another.
std::string title_of(const Metric& metric) {
  return metric.side.empty() ? std::string(metric.title)
                             : fmt::format("{} ({})", metric.title, metric.side);
}

void add_row(JsonWriter& json, const ReportRun& run, const ReportRow& row) {
  json.begin_object();
  json.key("result").value(row.part);
  add_verdict(json, "status", row.strict);
  add_verdict(json, "documented", row.status);
  json.key("bench_dtype").value(row.bench_dtype).key("device_dtype").value(row.device_dtype);
  json.key("shape").value(row.shape).key("message").value(row.message);
  json.key("reason").value(row.strict_reason).key("cause").value(row.likely_cause);
  json.key("metrics").begin_object();
  for (std::size_t i = 0; i < row.numbers.size() && i < run.metrics.size(); ++i) {
    json.key(title_of(run.metrics[i]));
    add_number(json, row.numbers[i]);
  }
  json.end_object();
  json.key("error_map");
  if (row.error_map.empty()) {
    json.null();
  } else {
    json.json(row.error_map);
  }
  json.end_object();
}

void add_call(JsonWriter& json, const ReportRun& run, const ReportCall& call) {
  json.begin_object();
  json.key("name").value(call.name).key("api").value(call.api);
  json.key("verdict").value(name(standing(call)));
  add_verdict(json, "status", call.strict);
  add_verdict(json, "documented", call.worst());
  json.key("error_over_bound");
  add_number(json, worst_over_bound(run, call));
  json.key("cause").value(cause_name(run, call)).key("why").value(why(run, call));
  json.key("message").value(call.message);
  json.key("source_line").value(source_line(run, call)).key("module").value(call.site.module);
  json.key("results").begin_array();
  for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
    add_row(json, run, run.rows[i]);
  }
  json.end_array().end_object();
}

}  // namespace

std::string calls_json(std::span<const ReportRun> runs) {
  JsonWriter json;
  json.begin_object().key("runs").begin_array();
  for (const ReportRun& run : runs) {
    json.begin_object();
    json.key("kind").value(run.kind).key("title").value(run.title).key("dump").value(run.dump);
    json.key("calls").begin_array();
    for (const ReportCall& call : run.calls) add_call(json, run, call);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.text();
}

}  // namespace msprobe::report
