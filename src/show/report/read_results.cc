// SPDX-License-Identifier: Apache-2.0
#include "report/read_results.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <variant>

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/file.h"
#include "core/look_up.h"
#include "core/shell_words.h"
#include "documented/result_row.h"
#include "documented/skip_message.h"
#include "final_verdict/compare_columns.h"
#include "final_verdict/compare_row.h"
#include "report/report_row.h"
#include "report/shown_limits.h"
#include "tables/detail_columns.h"
#include "tables/older_columns.h"
#include "tables/table_reader.h"

namespace msprobe::report {
namespace {

namespace fs = std::filesystem;
using documented::Cell;
using documented::DetailRow;
using documented::ResultRow;
using documented::Standard;
using final_verdict::CompareRow;

double number(const Cell& cell) { return cell.blank() ? kNoNumber : cell.value; }

// The metric columns of a table, in their order.
template <class Row>
struct MetricColumns {
  explicit MetricColumns(std::span<const tables::Column<Row>> columns) {
    for (const tables::Column<Row>& column : columns) {
      if (const auto* field = std::get_if<Cell Row::*>(&column.field)) {
        fields.push_back(*field);
        metrics.push_back({column.english, ""});
      }
    }
  }
  std::vector<double> numbers(const Row& row) const {
    std::vector<double> out;
    out.reserve(fields.size());
    for (const auto field : fields) out.push_back(number(row.*field));
    return out;
  }
  std::vector<Cell Row::*> fields;
  std::vector<Metric> metrics;
};

// Keeps each set of limits once: there are few.
std::uint32_t limits_index(ReportRun& run, Limits limits) {
  const auto found = std::ranges::find(run.limits, limits);
  const auto index = static_cast<std::uint32_t>(found - run.limits.begin());
  if (found == run.limits.end()) run.limits.push_back(std::move(limits));
  return index;
}

// By which algorithm a row was compared: its verdict cell says so in any language.
Standard standard_of(const CompareRow& row) {
  if (row.rmse_verdict || row.small_value_verdict) return Standard::kBenchmark;
  if (row.inf_nan_verdict) return Standard::kAbsoluteThreshold;
  if (row.binary_verdict) return Standard::kBinaryConsistency;
  if (row.ulp_verdict) return Standard::kUlp;
  return row.dual_1000_verdict ? Standard::kDual1000 : Standard::kNone;
}

using report::report_row;
ReportRow report_row(const CompareRow& row) {
  ReportRow out;
  out.status = row.result;
  out.strict = row.strict_device;
  out.strict_reason = utf8(row.strict_verdict == "pass" ? "" : row.strict_verdict);
  out.algorithm = shown_text(row.algorithm);
  out.standard = standard_of(row);
  out.message = utf8(row.message);
  return out;
}

// Whose rule a details CSV was judged by.
enum class RowRule : std::uint8_t { kPyTorch, kMindSpore, kOlder };

RowRule row_rule(std::span<const tables::Column<DetailRow>> columns) {
  const auto has = [&](std::string_view title) {
    return std::ranges::find(columns, title, &tables::Column<DetailRow>::english) != columns.end();
  };
  if (has(kMindSporeCosine)) return RowRule::kMindSpore;
  return has(tables::kOlderCosine) ? RowRule::kOlder : RowRule::kPyTorch;
}
RowRule row_rule(std::span<const tables::Column<CompareRow>>) { return RowRule::kPyTorch; }

Limits limits_of(std::string_view call, const DetailRow& row, RowRule rule,
                 const JudgedBy& judged_by) {
  if (rule == RowRule::kMindSpore) return mindspore_limits(judged_by);
  const auto dtype = parse_dtype(tables::trim(row.device_dtype));
  if (!dtype) return {};
  return rule == RowRule::kOlder ? older_limits(*dtype)
                                 : check_limits(bare_api(call), *dtype, judged_by);
}

// Of a comparison they may depend on the dtype, which is in the details of the check.
Limits limits_of(std::string_view, const CompareRow&, RowRule, const JudgedBy&) { return {}; }

// The call whose rows come next; rows of one call are adjacent in both CSVs.
ReportCall& call_for(ReportRun& run, std::string_view name) {
  if (run.calls.empty() || run.calls.back().name != name) {
    run.calls.emplace_back();
    run.calls.back().name = name;
    run.calls.back().api = api_of(name);
    run.calls.back().first_row = run.rows.size();
  }
  ++run.calls.back().row_count;
  return run.calls.back();
}

// The rerun command in the CSV, but for the call at its end, is the same for all calls. One that
// loads code is not taken from a file.
void take_rerun_command(ReportRun& run, const DetailRow& row) {
  if (!run.rerun.empty() || row.rerun_command.empty()) return;
  const auto words = shell_split(row.rerun_command);
  const auto command = words ? CallCommand::parse(*words) : std::nullopt;
  if (command) run.rerun = command->without_code({});
}
void take_rerun_command(ReportRun&, const CompareRow&) {}

template <class Row>
Result<void> read_rows(ReportRun& run, const fs::path& path,
                       std::span<const tables::Column<Row>> columns, const JudgedBy& judged_by,
                       const tables::CellStyle& style = {}) {
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  Result<tables::TableReader<Row>> table =
      tables::TableReader<Row>::start(file->text(), path.string(), columns, {}, style);
  if (!table) return propagate(table);
  const MetricColumns<Row> metrics(columns);
  run.metrics = metrics.metrics;
  const RowRule rule = row_rule(columns);
  constexpr bool kOfCheck = std::same_as<Row, DetailRow>;
  if (kOfCheck) run.metrics.insert(run.metrics.begin(), {kErrorOverBound, ""});
  Row row;
  while (true) {
    const Result<bool> more = table->next(row);
    if (!more) return propagate(more);
    if (!*more) return {};
    row.api_name = utf8(row.api_name);
    take_dots(row.api_name);
    const std::string_view call = call_of(row.api_name);
    call_for(run, call);
    ReportRow out = report_row(row);
    if (out.status == Verdict::kSkip) out.skip = documented::skip_reason_of(out.message);
    out.part = row.api_name.substr(std::min(call.size() + 1, row.api_name.size()));
    out.numbers = metrics.numbers(row);
    if (kOfCheck) {
      out.numbers.insert(out.numbers.begin(), out.error_over_bound);
    }
    out.limits = limits_index(run, limits_of(call, row, rule, judged_by));
    if (!table->problem().empty()) out.message += " [" + table->problem() + "]";
    take_rerun_command(run, row);
    run.rows.push_back(std::move(out));
  }
}

std::span<const ReportRow> rows_of(const ReportRun& run, const ReportCall& call) {
  return std::span(run.rows).subspan(call.first_row, call.row_count);
}

void fold_calls(ReportRun& run, documented::Profile profile) {
  for (ReportCall& call : run.calls) {
    std::vector<Verdict> forward;
    std::vector<Verdict> backward;
    for (const ReportRow& row : rows_of(run, call)) {
      (in_first_direction(run, row) ? forward : backward).push_back(row.status);
      if (row.strict) call.strict = worse(call.strict.value_or(Verdict::kSkip), *row.strict);
      if (row.status == Verdict::kSkip && call.message.empty()) {
        call.message = row.message;
        call.skip = row.skip;
      }
    }
    call.forward = documented::fold(forward, profile);
    call.backward = documented::fold(backward, profile);
  }
}

// The result CSV has the last word on the verdict of a call.
Result<void> read_verdicts(ReportRun& run, const fs::path& path, const tables::CellStyle& style) {
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  Result<tables::TableReader<ResultRow>> table = tables::TableReader<ResultRow>::start(
      file->text(), path.string(), tables::result_columns(), {}, style);
  if (!table) return propagate(table);
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < run.calls.size(); ++i) places.emplace(run.calls[i].name, i);
  ResultRow row;
  while (true) {
    const Result<bool> more = table->next(row);
    if (!more) return propagate(more);
    if (!*more) return {};
    take_dots(row.api_name);
    const auto place = places.find(row.api_name);
    if (place == places.end()) continue;
    ReportCall& call = run.calls[place->second];
    call.forward = row.forward;
    call.backward = row.backward;
    call.message = utf8(row.message);
    call.skip = documented::skip_reason_of(row.message);
  }
}

// "2026-11-17 00:44:09" of "accuracy_checking_details_20261117004409.csv"; empty without a stamp.
std::string date_of(const fs::path& csv) {
  const std::string name = csv.stem().string();
  const std::string_view stamp =
      std::string_view(name).substr(name.find_last_not_of("0123456789") + 1);
  constexpr std::size_t kDigits = 14;
  if (stamp.size() < kDigits || !stamp.starts_with("20")) return {};
  return fmt::format("{}-{}-{} {}:{}:{}", stamp.substr(0, 4), stamp.substr(4, 2),
                     stamp.substr(6, 2), stamp.substr(8, 2), stamp.substr(10, 2),
                     stamp.substr(12, 2));
}

struct Kinds {
  bool result = false, check = false, compare = false, older = false, mindspore = false;
};

Result<Kinds> titles_of(const fs::path& path) {
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  tables::CsvReader csv(file->text(), path.string());
  const Result<bool> more = csv.next();
  if (!more) return propagate(more);
  Kinds titles;
  if (!*more) return titles;
  for (const std::string_view cell : csv.cells()) {
    titles.result |= tables::same_title(cell, "Forward Test Success");
    titles.mindspore |= tables::same_title(cell, "Tested Dtype");
    titles.check |= tables::same_title(cell, "DEVICE Dtype") || titles.mindspore;
    titles.older |= tables::same_title(cell, "NPU Dtype");
    titles.compare |=
        tables::same_title(cell, "Comparison result") || tables::same_title(cell, "比对结果");
  }
  return titles;
}

// The same name with `to` for `from`, where that file exists. What cannot be looked at is opened,
// which says why.
fs::path partner(const fs::path& path, std::string_view from, std::string_view to) {
  std::string name = path.filename().string();
  const std::size_t at = name.rfind(from);
  if (at == std::string::npos) return {};
  name.replace(at, from.size(), to);
  fs::path found = path.parent_path() / name;
  const Result<bool> there = is_there(found);
  return !there || *there ? found : fs::path();
}

}  // namespace

Result<ResultFiles> find_result_files(const fs::path& csv) {
  Result<Kinds> titles = titles_of(csv);
  if (!titles) return propagate(titles);
  ResultFiles files;
  if (titles->check || titles->compare || titles->older) {
    files.details = csv;
    files.result = partner(csv, "details", "result");
  } else if (titles->result) {
    files.result = csv;
    files.details = partner(csv, "result", "details");
    if (files.details.empty()) {
      return fail(ErrorKind::kUsage, fmt::format("{}: its details CSV is missing; keep both "
                                                 "files in one directory, with their names",
                                                 csv.string()));
    }
    titles = titles_of(files.details);
    if (!titles) return propagate(titles);
  }
  if (!titles->check && !titles->compare && !titles->older) {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: the titles are neither those of acc_check or run_ut nor those of "
                            "api_precision_compare",
                            csv.string()));
  }
  files.compare = titles->compare;
  files.older = titles->older;
  files.mindspore = titles->mindspore;
  return files;
}

Result<ReportRun> read_run(const ResultFiles& files, const JudgedBy& judged_by) {
  ReportRun run;
  run.kind = files.compare ? "compare" : "check";
  run.title = files.details.filename().string();
  const documented::Profile all = documented::Profile::kDocumented;
  const tables::CellStyle style = files.older ? tables::kOlderStyle : tables::CellStyle{};
  const auto& columns = files.older       ? tables::older_detail_columns(all)
                        : files.mindspore ? tables::mindspore_detail_columns(all)
                                          : tables::detail_columns(all);
  const Result<void> read =
      files.compare
          ? read_rows(run, files.details,
                      final_verdict::compare_detail_columns(documented::Profile::kDocumented),
                      judged_by)
          : read_rows(run, files.details, columns, judged_by, style);
  if (!read) return propagate(read);
  if (files.compare) set_compare_limits(run, judged_by);
  fold_calls(run, judged_by.profile);
  if (!files.result.empty()) {
    if (const Result<void> verdicts = read_verdicts(run, files.result, style); !verdicts) {
      return propagate(verdicts);
    }
  }
  for (ReportCall& call : run.calls) call.group = call.name.substr(0, call.name.find('.'));
  run.origin.emplace_back("details", files.details.string());
  if (!files.result.empty()) run.origin.emplace_back("result", files.result.string());
  if (std::string date = date_of(files.details); !date.empty()) {
    run.origin.emplace_back("date", std::move(date));
  }
  return run;
}

void set_compare_limits(ReportRun& run, const JudgedBy& judged_by) {
  for (const ReportCall& call : run.calls) {
    for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
      ReportRow& row = run.rows[i];
      const std::optional<DType> dtype = parse_dtype(row.device_dtype);
      row.limits = limits_index(run, compare_limits(bare_api(call.name), dtype ? &*dtype : nullptr,
                                                    row.standard, judged_by));
    }
  }
}

void add_side(ReportRun& run, const ReportRun& check, std::string_view side) {
  std::unordered_map<std::string, const ReportRow*> rows;
  for (const ReportCall& call : check.calls) {
    for (const ReportRow& row : rows_of(check, call))
      rows.emplace(call.name + "." + row.part, &row);
  }
  for (const Metric& metric : check.metrics) {
    if (metric.side.empty()) run.metrics.push_back({metric.title, side});
  }
  const std::size_t width = run.metrics.size();
  for (const ReportCall& call : run.calls) {
    for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
      ReportRow& row = run.rows[i];
      if (const auto found = rows.find(call.name + "." + row.part); found != rows.end()) {
        const ReportRow& other = *found->second;
        const std::size_t own = std::min(other.numbers.size(), width - row.numbers.size());
        row.numbers.insert(row.numbers.end(), other.numbers.begin(),
                           other.numbers.begin() + static_cast<std::ptrdiff_t>(own));
        if (row.shape.empty()) row.shape = other.shape;
        if (side == "device" && row.device_dtype.empty()) {
          row.bench_dtype = other.bench_dtype;
          row.device_dtype = other.device_dtype;
          row.strict = other.strict;
          row.strict_reason = other.strict_reason;
          row.likely_cause = other.likely_cause;
          row.error_over_bound = other.error_over_bound;
        }
      }
      row.numbers.resize(width, kNoNumber);
    }
  }
}

}  // namespace msprobe::report
