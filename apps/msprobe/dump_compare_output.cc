#include "dump_compare_output.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/json_writer.h"

namespace msprobe::app {
namespace {

using DumpColumn = dump_compare::Column;
using dump_compare::EntryRows;
using DumpOutcome = dump_compare::Outcome;
using DumpRow = dump_compare::Row;

report::Mark mark_of_row(const DumpRow& row) {
  switch (row.outcome) {
    case DumpOutcome::kError:
      return report::Mark::kAbnormal;
    case DumpOutcome::kWarning:
    case DumpOutcome::kUnmatched:
    case DumpOutcome::kSkipped:
      return report::Mark::kSuspicious;
    case DumpOutcome::kPass:
      break;
  }
  return report::Mark::kNone;
}

void write_name(JsonWriter& json, std::string_view key, const dump::Entry* entry,
                const dump::Item* item) {
  json.key(key);
  if (item == nullptr) {
    json.null();
  } else {
    json.value(dump::item_name(*entry, *item));
  }
}

void write_metrics(JsonWriter& json, const dump_compare::RealNumbers& real) {
  using State = dump_compare::RealNumbers::State;
  if (real.state != State::kAll && real.state != State::kOneElement) return;
  json.key("max_abs_error").value(real.max_abs_error);
  json.key("max_relative_error").value(real.max_relative_error);
  if (real.state == State::kOneElement) return;
  json.key("cosine").value(real.cosine);
  json.key("euclidean_distance").value(real.euclidean_distance);
  json.key("within_1000").value(real.within_1000);
  json.key("within_200").value(real.within_200);
}

void write_differences(JsonWriter& json, const DumpRow& row) {
  constexpr std::array<std::string_view, dump_compare::kStatisticCount> kKeys{
      "max_relative", "min_relative", "mean_relative", "norm_relative"};
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const double relative = row.differences[i].relative_or_none();
    if (relative >= 0) json.key(kKeys[i]).value(relative);
  }
}

void write_row(JsonWriter& json, const dump_compare::DumpPair& pair, dump_compare::Mode mode,
               const EntryRows& rows, const DumpRow& row) {
  json.begin_object();
  json.key("step").value(pair.step).key("rank").value(pair.rank);
  write_name(json, "target", row.target_entry, row.target);
  write_name(json, "golden", row.golden_entry, row.golden);
  json.key("result").value(dump_compare::name(row.outcome));
  json.key("match").value(dump_compare::name(row.match));
  if (!rows.module.empty()) json.key("module").value(rows.module);
  if (row.is_matched()) {
    if (mode == dump_compare::Mode::kReal) write_metrics(json, row.real);
    if (mode == dump_compare::Mode::kMd5) {
      json.key("target_md5").value(dump_compare::md5_text(row.target));
      json.key("golden_md5").value(dump_compare::md5_text(row.golden));
    } else {
      write_differences(json, row);
    }
  }
  if (!row.messages.empty()) {
    json.key("messages").begin_array();
    for (const std::string& message : row.messages) json.value(message);
    json.end_array();
  }
  json.end_object();
}

}  // namespace

Result<DumpTable> DumpTable::start(const std::filesystem::path& directory, const std::string& stem,
                                   bool xlsx, const dump_compare::CompareStart& start) {
  const std::filesystem::path path = directory / (stem + ".csv");
  Result<report::OutputFile> csv = report::OutputFile::create(path);
  if (!csv) return propagate(csv);
  DumpTable table(path, *std::move(csv), start.columns);
  table.csv_.buffer() += dump_compare::csv_titles(table.columns_);
  if (!xlsx) return table;
  table.sheet_path_ = directory / (stem + ".xlsx");
  std::vector<std::string> titles;
  for (const DumpColumn& column : table.columns_) titles.emplace_back(column.title);
  Result<report::XlsxTable> sheet = report::XlsxTable::create(table.sheet_path_, std::move(titles));
  if (!sheet) return propagate(sheet);
  table.sheet_.emplace(*std::move(sheet));
  return table;
}

Result<void> DumpTable::add(const EntryRows& rows) {
  csv_.buffer() += rows.csv;
  if (sheet_) add_to_sheet(rows);
  return csv_.flush_if_full();
}

void DumpTable::add_to_sheet(const EntryRows& rows) {
  std::vector<report::XlsxCell> cells(columns_.size());
  for (const DumpRow& row : rows.rows) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      cells[i].text.clear();
      cells[i].is_text = columns_[i].is_text;
      columns_[i].append(cells[i].text, row, rows);
    }
    sheet_->add(cells, mark_of_row(row));
  }
}

Result<std::vector<std::filesystem::path>> DumpTable::finish() {
  std::vector<std::filesystem::path> written{path_};
  if (const auto done = csv_.commit(); !done) return propagate(done);
  if (sheet_) {
    if (const auto done = sheet_->close(); !done) return propagate(done);
    written.push_back(sheet_path_);
  }
  return written;
}

Result<DumpRowsJson> DumpRowsJson::start(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorKind::kUsage, fmt::format("{}: --json wants a file", path));
  }
  Result<report::OutputFile> file = report::OutputFile::create(path);
  if (!file) return propagate(file);
  DumpRowsJson json(*std::move(file));
  json.file_.buffer() += "{\n\"rows\": [";
  return json;
}

Result<void> DumpRowsJson::add(const dump_compare::DumpPair& pair, dump_compare::Mode mode,
                               const EntryRows& rows) {
  for (const DumpRow& row : rows.rows) {
    JsonWriter json;
    write_row(json, pair, mode, rows, row);
    file_.buffer() += std::exchange(has_rows_, true) ? ",\n" : "\n";
    file_.buffer() += json.text();
  }
  return file_.flush_if_full();
}

Result<void> DumpRowsJson::finish(const std::string& tail) {
  // The tail is an object of its own: its opening brace makes way for the rows before it.
  file_.buffer() += "\n],";
  file_.buffer() += tail.substr(1);
  file_.buffer() += '\n';
  return file_.commit();
}

}  // namespace msprobe::app
