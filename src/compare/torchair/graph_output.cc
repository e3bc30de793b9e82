// SPDX-License-Identifier: Apache-2.0
#include "torchair/graph_output.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/json_writer.h"
#include "tables/csv_text.h"
#include "torchair/criteria.h"
#include "torchair/row_json.h"
#include "torchair/tensor_columns.h"

namespace msprobe::torchair {
namespace {

std::string titles(GraphMode mode) {
  std::string line(tables::kByteOrderMark);
  bool first = true;
  for (const TensorColumn& column : columns_of(mode)) {
    if (!std::exchange(first, false)) line += ',';
    tables::append_text(line, column.title);
  }
  line += tables::kRecordEnd;
  return line;
}

void append_row(std::string& out, const TensorRow& row, GraphMode mode) {
  bool first = true;
  for (const TensorColumn& column : columns_of(mode)) {
    if (!std::exchange(first, false)) out += ',';
    tables::append_text(out, column.text(row));
  }
  out += tables::kRecordEnd;
}

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
  json.key("rows").value(totals.rows).key("paired").value(totals.paired);
  json.key("unmatched").value(totals.unmatched).key("unreadable").value(totals.unreadable);
  json.key("differ").value(totals.differing).key("fail").value(totals.failed);
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
    std::error_code ignored;
    if (std::filesystem::is_directory(files.json, ignored)) {
      return fail(ErrorKind::kUsage,
                  fmt::format("{}: --json needs the name of a file", files.json));
    }
    Result<tables::OutputFile> json = tables::OutputFile::create(files.json);
    if (!json) return propagate(json);
    output.json_.emplace(std::move(*json));
    output.json_->buffer() += "{\n\"rows\": [";
  }
  return output;
}

Result<GraphOutput::Table*> GraphOutput::table_of(std::int64_t rank) {
  if (const auto known = tables_.find(rank); known != tables_.end()) return &known->second;
  const auto other_rank = [&](const UnitPair& unit) { return unit.rank != rank; };
  const bool named = files_.rank_named || std::ranges::any_of(plan_->pairs, other_rank);
  std::string stem = named ? fmt::format("msprobe_cmp_report_rank{}_{}", rank, files_.timestamp)
                           : fmt::format("msprobe_cmp_report_{}", files_.timestamp);
  Result<tables::FreeOutput> made = tables::create_free(files_.directory, stem, ".csv");
  if (!made) return propagate(made);
  stem += made->number;
  made->file.buffer() += titles(mode_);
  Table table{files_.directory / (stem + ".csv"), std::move(made->file), {}, {}};
  if (files_.xlsx) {
    table.xlsx = files_.directory / (stem + ".xlsx");
    std::vector<std::string> names;
    for (const TensorColumn& column : columns_of(mode_)) {
      names.emplace_back(column.title);
    }
    Result<tables::XlsxTable> sheet = tables::XlsxTable::create(table.xlsx, std::move(names));
    if (!sheet) return propagate(sheet);
    table.sheet.emplace(std::move(*sheet));
  }
  return &tables_.emplace(rank, std::move(table)).first->second;
}

Result<bool> GraphOutput::add(const TensorRow& row) {
  const Result<Table*> table = table_of(row.rank);
  if (!table) return propagate(table);
  append_row((*table)->file.buffer(), row, mode_);
  if (const auto flushed = (*table)->file.flush_if_full(); !flushed) return propagate(flushed);
  if ((*table)->sheet) {
    std::vector<tables::XlsxCell> cells;
    for (const TensorColumn& column : columns_of(mode_)) {
      cells.push_back({column.text(row), column.is_text});
    }
    (*table)->sheet->add(cells, mark_of(row));
  }
  if (!json_) return true;
  JsonWriter json;
  write_row(json, row);
  json_->buffer() += std::exchange(has_json_rows_, true) ? ",\n" : "\n";
  json_->buffer() += json.text();
  if (const auto flushed = json_->flush_if_full(); !flushed) return propagate(flushed);
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
    if (const auto done = table.file.commit(); !done) return propagate(done);
    written.push_back(table.csv);
    if (!table.sheet) continue;
    if (const auto done = table.sheet->close(); !done) return propagate(done);
    written.push_back(table.xlsx);
  }
  if (json_) {
    // The tail is an object of its own: its opening brace makes way for the rows before it.
    json_->buffer() += "\n],\n\"golden_only\": [" + bench_only_ + "],";
    json_->buffer() += json_tail(*plan_, first, totals).substr(1);
    json_->buffer() += '\n';
    if (const auto done = json_->commit(); !done) return propagate(done);
    written.emplace_back(files_.json);
  }
  return written;
}

}  // namespace msprobe::torchair
