// SPDX-License-Identifier: Apache-2.0
#include "check/check_work.h"

#include <fmt/format.h>

#include "check/cost.h"
#include "check/known_errors.h"
#include "documented/skip_message.h"
#include "journal/map_lines.h"

namespace msprobe::check {
namespace {

// Beyond these, skips are only counted: a million lines help nobody.
constexpr std::size_t kShownSkips = 20;

bool did_not_pass(const documented::ResultRow& row) {
  return row.forward != Verdict::kPass || (row.backward && row.backward != Verdict::kPass);
}

// Rows of the older recorder's calls have the names that its files have.
void rename_rows(JudgedCall& judged, const dump::CallSlice& slice) {
  if (slice.key.empty()) return;
  judged.result.api_name = slice.key;
  for (documented::DetailRow& row : judged.details) {
    if (row.api_name.starts_with(slice.full_name)) {
      row.api_name.replace(0, slice.full_name.size(), slice.key);
    }
  }
}

}  // namespace

CheckWork::CheckWork(const CheckOptions& options, const dump::DumpIndex& dump, const Plan& plan,
                     const JudgeRules& rules, journal::Journal& journal, Coverage& coverage)
    : options_(options),
      dump_(dump),
      plan_(plan),
      rules_(rules),
      journal_(journal),
      coverage_(coverage),
      style_(rules.dialect->style),
      save_directory_(rules.dialect->error_data(options.config, journal.paths(), dump).string()) {
  style_.precision = options.config.precision;
}

const dump::CallSlice& CheckWork::slice(std::size_t position) const {
  return dump_.calls[plan_.calls[position].index];
}

std::optional<double> CheckWork::cost(std::size_t position) {
  if (plan_.calls[position].skip != SkipReason::kNone) return std::nullopt;
  return estimate_cost(slice(position));
}

protocol::CallRequest CheckWork::request(std::size_t position, bool save) {
  const dump::CallSlice& call = slice(position);
  protocol::CallRequest request;
  request.id = position;
  request.full_name = call.full_name;
  request.forward_json = call.forward_json;
  request.backward_json = call.backward_json;
  if (save) request.save_directory = save_directory_;
  const ops::NamedCall named(call.full_name);
  for (std::size_t i = 0; i < request.thresholds.size(); ++i) {
    request.thresholds[i] = documented::thresholds_for(
        {.api = named.api, .dtype = static_cast<DType>(i), .device = rules_.device_kind},
        rules_.profile, rules_.standards);
  }
  return request;
}

bool CheckWork::answered(std::size_t position, const protocol::MeasuredCall& call,
                         std::size_t device) {
  const ops::NamedCall named(slice(position).full_name);
  if (call.skip) say_why_skipped(slice(position).shown_name(), *call.skip);
  JudgedCall judged = judge_call(call, named, rules_);
  const bool save = options_.request.save_error_data && !save_directory_.empty() && !call.skip &&
                    did_not_pass(judged.result);
  rename_rows(judged, slice(position));
  answers_.insert_or_assign(position, Answer{std::move(judged), device});
  return save;
}

void CheckWork::say_why_skipped(std::string_view full_name, const Skip& skip) {
  if (++shown_skips_ > kShownSkips) return;
  options_.say(log::Severity::kError, fmt::format("Run {} acc_check Error: {}", full_name,
                                                  with_advice(documented::skip_message(skip))));
  if (shown_skips_ == kShownSkips) {
    options_.say(log::Severity::kInfo, "further skipped calls are only counted");
  }
}

void CheckWork::commit(std::size_t position) {
  const SkipReason skip = plan_.calls[position].skip;
  if (skip != SkipReason::kNone) {
    const std::string_view name = slice(position).full_name;
    JudgedCall judged = skip_call(name, documented::planned_skip(skip, name), rules_);
    rename_rows(judged, slice(position));
    write(judged, 0);
    return;
  }
  const auto answer = answers_.extract(position);
  write(answer.mapped().judged, answer.mapped().device);
}

void CheckWork::write(const JudgedCall& judged, std::size_t device) {
  details_text_.clear();
  result_text_.clear();
  maps_text_.clear();
  for (const documented::DetailRow& row : judged.details) {
    tables::append_record(details_text_, rules_.dialect->detail_columns(rules_.profile), row,
                          style_);
    if (!row.error_map.empty()) maps_text_ += journal::map_line(row.api_name, row.error_map);
  }
  tables::append_record(result_text_, rules_.dialect->result_columns(), judged.result, style_);
  journal_.add({details_text_, result_text_, maps_text_}, device);
  coverage_.add(judged.result);
  if (options_.judged) options_.judged(judged);
}

void CheckWork::show_progress(std::size_t committed) {
  if (options_.show_progress) options_.show_progress(committed, plan_.calls.size());
}

}  // namespace msprobe::check
