// SPDX-License-Identifier: Apache-2.0
#include "metrics/pair.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/json_writer.h"
#include "documented/cells.h"
#include "documented/detail_metrics.h"

namespace msprobe::metrics {
namespace {

// A metric under its key in the JSON answer.
struct RowCell {
  std::string_view key;
  documented::DetailMetric metric;
};
constexpr RowCell kRowCells[] = {
    {"cosine_similarity", documented::kCosineMetric},
    {"max_abs_err", documented::kMaxAbsMetric},
    {"rel_err_hundredth", documented::kDual100Metric},
    {"rel_err_thousandth", documented::kDual1000Metric},
    {"rel_err_ten_thousandth", documented::kDual10000Metric},
    {"error_rate", documented::kBinaryMetric},
    {"eb", documented::kBalanceMetric},
    {"rmse", documented::kRmseMetric},
    {"small_value_err_ratio", documented::kSmallValueMetric},
    {"max_rel_err", documented::kMaxRelativeMetric},
    {"mean_rel_err", documented::kMeanRelativeMetric},
    {"inf_nan_error_ratio", documented::kInfNanRateMetric},
    {"rel_err_ratio", documented::kRelativeRateMetric},
    {"abs_err_ratio", documented::kAbsoluteRateMetric},
    {"max_ulp_err", documented::kMaxUlpMetric},
    {"mean_ulp_err", documented::kMeanUlpMetric},
    {"ulp_err_proportion", documented::kUlpProportionMetric},
};

// One algorithm's cells under the names its answer has.
struct AlgorithmCell {
  documented::Standard standard;
  std::string_view algorithm;
  std::string_view key;
  documented::Cell documented::DetailRow::* cell;
};
constexpr AlgorithmCell kAlgorithmCells[] = {
    {documented::Standard::kBenchmark, "benchmark", "small_value_err_ratio",
     &documented::DetailRow::small_value_error_ratio},
    {documented::Standard::kBenchmark, "benchmark", "max_rel_error",
     &documented::DetailRow::max_relative_error},
    {documented::Standard::kBenchmark, "benchmark", "mean_rel_error",
     &documented::DetailRow::mean_relative_error},
    {documented::Standard::kBenchmark, "benchmark", "rmse", &documented::DetailRow::rmse},
    {documented::Standard::kBenchmark, "benchmark", "eb", &documented::DetailRow::error_balance},
    {documented::Standard::kAbsoluteThreshold, "absolute_threshold", "inf_nan_error_ratio",
     &documented::DetailRow::inf_nan_error_rate},
    {documented::Standard::kAbsoluteThreshold, "absolute_threshold", "rel_err_ratio",
     &documented::DetailRow::relative_error_rate},
    {documented::Standard::kAbsoluteThreshold, "absolute_threshold", "abs_err_ratio",
     &documented::DetailRow::absolute_error_rate},
    {documented::Standard::kUlp, "ulp", "max_ulp_error", &documented::DetailRow::max_ulp_error},
    {documented::Standard::kUlp, "ulp", "mean_ulp_error", &documented::DetailRow::mean_ulp_error},
    {documented::Standard::kUlp, "ulp", "ulp_error_proportion",
     &documented::DetailRow::ulp_error_proportion},
    {documented::Standard::kBinaryConsistency, "binary", "error_rate",
     &documented::DetailRow::binary_error_rate},
    {documented::Standard::kDual1000, "thousandth", "rel_err_thousandth",
     &documented::DetailRow::dual_1000},
};

// "Functional.conv2d.0" and "conv2d" are the same API.
std::string bare_name(std::string_view api) {
  const std::optional<CallName> full = parse_call_name(api);
  return full ? std::string(full->bare_name) : std::string(api);
}

void write_cell(JsonWriter& json, const documented::Cell& cell) {
  if (cell.blank()) {
    json.null();
  } else if (cell.kind == documented::Cell::Kind::kInteger) {
    json.value(static_cast<std::int64_t>(cell.value));
  } else {
    json.value(cell.value);
  }
}

void write_row(JsonWriter& json, const Evaluation& answer) {
  json.key("row").begin_object();
  json.key("bench_dtype").value(text(answer.pair.bench_dtype));
  json.key("device_dtype").value(text(answer.pair.device_dtype));
  json.key("shape").begin_array();
  for (const std::int64_t extent : answer.pair.device_shape) json.value(extent);
  json.end_array();
  for (const RowCell& column : kRowCells) {
    json.key(column.key);
    write_cell(json, answer.row.*column.metric.cell);
  }
  json.key("status").value(name(answer.row.status));
  json.key("message").value(answer.row.message);
  json.end_object();
}

void write_accumulative(JsonWriter& json, const measure::Metrics& metrics) {
  const auto share = [&](std::string_view key, std::uint64_t part, std::uint64_t whole) {
    json.key(key).value(whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole));
  };
  json.key("accumulative_error").begin_object();
  share("inf_nan_error_ratio", metrics.accumulative_not_finite_errors, metrics.not_finite);
  share("rel_err_ratio", metrics.accumulative_relative_errors, metrics.accumulative_normal);
  share("abs_err_ratio", metrics.accumulative_small_errors, metrics.accumulative_small);
  json.key("eb").value(metrics.error_balance);
  json.end_object();
}

bool applies(documented::Standard standard, const documented::OutputPair& pair) {
  if (standard == documented::Standard::kBinaryConsistency) return true;
  const auto real = [](DType d) { return is_float(d) || is_float8(d); };
  if (!real(pair.device_dtype) || !real(pair.bench_dtype)) return false;
  return standard != documented::Standard::kUlp || documented::has_new_standard(pair.device_dtype);
}

void write_algorithms(JsonWriter& json, const Evaluation& answer, documented::Profile profile) {
  json.key("algorithms").begin_object();
  std::string_view open;
  for (const AlgorithmCell& column : kAlgorithmCells) {
    if (!answer.metrics || !applies(column.standard, answer.pair)) continue;
    if (open != column.algorithm) {
      if (!open.empty()) json.end_object();
      json.key(column.algorithm).begin_object();
      open = column.algorithm;
    }
    documented::DetailRow cells;
    documented::fill_standard(cells, column.standard, *answer.metrics, answer.pair, profile);
    json.key(column.key);
    write_cell(json, cells.*column.cell);
  }
  if (!open.empty()) json.end_object();
  if (answer.metrics && profile == documented::Profile::kReference &&
      applies(documented::Standard::kBenchmark, answer.pair)) {
    write_accumulative(json, *answer.metrics);
  }
  json.end_object();
}

std::string cell_text(const documented::Cell& cell) {
  return cell.blank() ? "" : fmt::format("{}", cell.value);
}

}  // namespace

Evaluation evaluate(const TensorView& bench, const TensorView& device, const PairOptions& options,
                    const documented::Standards& standards) {
  const std::string api = bare_name(options.api);
  const std::string row_name = api.empty() ? "pair" : api;
  const documented::Context context{
      .row_name = row_name, .api = api, .profile = options.profile, .standards = standards};
  Evaluation answer{
      .pair = {bench.dtype, bench.shape, device.dtype, device.shape}, .row = {}, .metrics = {}};
  const std::optional<documented::DetailRow> settled =
      documented::judge_structure(answer.pair, context);
  if (std::ranges::equal(bench.shape, device.shape)) {
    answer.metrics = measure::measure(
        device, bench, documented::measure_options(answer.pair, context, options.threads));
  }
  answer.row = settled ? *settled : documented::judge_tensor(answer.pair, *answer.metrics, context);
  return answer;
}

std::string to_json(const Evaluation& answer, documented::Profile profile) {
  JsonWriter json;
  json.begin_object();
  write_row(json, answer);
  write_algorithms(json, answer, profile);
  json.end_object();
  return json.text();
}

std::vector<TitledValue> to_titled_values(const Evaluation& answer, documented::Profile profile) {
  std::vector<TitledValue> lines = {{"Bench dtype", std::string(text(answer.pair.bench_dtype))},
                                    {"Device dtype", std::string(text(answer.pair.device_dtype))},
                                    {"Shape", documented::shape_text(answer.pair.device_shape)}};
  documented::DetailRow all = answer.row;
  if (answer.metrics) documented::fill_all(all, *answer.metrics, answer.pair, profile);
  for (const RowCell& column : kRowCells) {
    const std::string value = cell_text(all.*column.metric.cell);
    if (!value.empty()) lines.push_back({std::string(column.metric.english), value});
  }
  lines.push_back({"Status", std::string(name(answer.row.status))});
  return lines;
}

}  // namespace msprobe::metrics
