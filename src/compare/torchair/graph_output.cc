// SPDX-License-Identifier: Apache-2.0
#include "torchair/graph_output.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/json_writer.h"
#include "torchair/criteria.h"
#include "torchair/tensor_columns.h"

namespace msprobe::torchair {
namespace {

void write_tokens(JsonWriter& json, std::string_view key, const std::vector<std::int64_t>& tokens) {
  json.key(key).begin_array();
  for (const std::int64_t token : tokens) json.value(token);
  json.end_array();
}

// Everything of the JSON answer but the rows and what only the reference has.
std::string json_tail(const UnitPlan& plan, const std::optional<TensorRow>& first,
                      const CompareTotals& totals) {
  JsonWriter json;
  json.begin_object();
  json.key("first_difference");
  if (first) {
    json.begin_object();
    write_place(json, *first);
    json.end_object();
  } else {
    json.null();
  }
  json.key("summary").begin_object();
  json.key("rows").value(totals.rows).key("paired").value(totals.paired());
  json.key("unmatched")
      .value(totals[Outcome::kUnmatched])
      .key("unreadable")
      .value(totals[Outcome::kSkipped]);
  json.key("differ").value(totals.differing).key("fail").value(totals[Outcome::kError]);
  json.end_object();
  json.key("tokens_left_out").begin_object();
  write_tokens(json, "target_tokens_without_golden", plan.device_tokens_left_out);
  write_tokens(json, "golden_tokens_without_target", plan.bench_tokens_left_out);
  json.end_object();
  json.key("left_out").begin_array();
  for (const std::string& text : plan.left_out) json.value(text);
  json.end_array();
  if (plan.fx_token_offset) json.key("fx_token_offset").value(*plan.fx_token_offset);
  json.end_object();
  return json.text();
}

}  // namespace

Result<GraphOutput> GraphOutput::start(const GraphFiles& files, const UnitPlan& plan,
                                       GraphMode mode) {
  GraphOutput output(files, plan, mode);
  if (!files.json.empty()) {
    Result<comparison::RowsJson> json = comparison::RowsJson::create(files.json);
    if (!json) return propagate(json);
    output.json_.emplace(std::move(*json));
  }
  return output;
}

Result<comparison::RowTable*> GraphOutput::table_of(std::int64_t rank) {
  if (const auto known = tables_.find(rank); known != tables_.end()) return &known->second;
  const auto other_rank = [&](const UnitPair& unit) { return unit.rank != rank; };
  const bool named = files_.rank_named || std::ranges::any_of(plan_->pairs, other_rank);
  std::string stem = named ? fmt::format("msprobe_cmp_report_rank{}_{}", rank, files_.timestamp)
                           : fmt::format("msprobe_cmp_report_{}", files_.timestamp);
  Result<comparison::RowTable> table = comparison::RowTable::create(
      {files_.directory, std::move(stem), files_.xlsx}, comparison::kGraphStyle,
      comparison::titles_of(columns_of(mode_)));
  if (!table) return propagate(table);
  return &tables_.emplace(rank, std::move(*table)).first->second;
}

Result<bool> GraphOutput::add(const TensorRow& row) {
  const Result<comparison::RowTable*> table = table_of(row.rank);
  if (!table) return propagate(table);
  texts_.clear();
  comparison::append_row(texts_, columns_of(mode_), files_.xlsx, mark_of(row), row);
  if (const auto added = (*table)->add(texts_); !added) return propagate(added);
  if (!json_) return true;
  JsonWriter json;
  write_row(json, row);
  if (const auto added = json_->add(json.text()); !added) return propagate(added);
  return true;
}

void GraphOutput::add_bench_only(const UnitPair& unit, const std::vector<std::string>& names) {
  if (!json_) return;
  for (const std::string& key : names) {
    JsonWriter json;
    json.begin_object();
    json.key("rank").value(unit.rank).key("graph").value(unit.graph).key("token").value(unit.token);
    json.key("key").value(key);
    json.end_object();
    if (!bench_only_.empty()) bench_only_ += ",\n";
    bench_only_ += json.text();
  }
}

Result<std::vector<std::filesystem::path>> GraphOutput::finish(
    const std::optional<TensorRow>& first, const CompareTotals& totals) {
  std::vector<std::filesystem::path> written;
  for (auto& [rank, table] : tables_) {
    const Result<std::vector<std::filesystem::path>> files = table.finish();
    if (!files) return propagate(files);
    written.insert(written.end(), files->begin(), files->end());
  }
  if (json_) {
    const std::string tail = fmt::format("{{\n\"golden_only\": [{}],{}", bench_only_,
                                         json_tail(*plan_, first, totals).substr(1));
    if (const auto done = json_->finish(tail); !done) return propagate(done);
    written.emplace_back(files_.json);
  }
  return written;
}

}  // namespace msprobe::torchair
