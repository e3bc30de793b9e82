// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "torchair/criteria.h"
#include "torchair/graph_output.h"

namespace msprobe::torchair {
namespace {

void write_shape(JsonWriter& json, std::string_view key, const std::optional<Shape>& shape) {
  if (!shape) return;
  json.key(key).begin_array();
  for (const std::int64_t extent : *shape) json.value(extent);
  json.end_array();
}

void write_optional(JsonWriter& json, std::string_view key, const std::optional<double>& number) {
  json.key(key);
  if (number) {
    json.value(*number);
  } else {
    json.null();
  }
}

void write_real(JsonWriter& json, const TensorNumbers& real) {
  const measure::SimilarityTally& tally = real.tally;
  json.key("cosine").value(real.similarity.cosine);
  json.key("euc_dist").value(real.similarity.euclidean_distance);
  json.key("max_abs").value(real.similarity.max_abs_error);
  if (real.max_abs_at) json.key("max_abs_at").value(std::size_t{*real.max_abs_at});
  json.key("max_rel").value(real.similarity.max_relative_error);
  json.key("mean_abs").value(real.similarity.mean_abs_error);
  json.key("within_1e3").value(real.similarity.within_1000);
  json.key("within_5e3").value(real.similarity.within_200);
  if (tally.mismatches == 0) return;
  json.key("nonfinite_mismatch").value(std::size_t{tally.mismatches});
  json.key("first_nonfinite").begin_array();
  json.value(std::size_t{tally.first_mismatch});
  json.value(tally.mismatch_device).value(tally.mismatch_bench).end_array();
}

void write_statistics(JsonWriter& json, const Statistics& statistics) {
  constexpr std::array<std::string_view, kStatistics> kKeys = {"max", "min", "mean", "l2"};
  for (std::size_t i = 0; i < kStatistics; ++i) {
    json.key(kKeys[i]).begin_object();
    write_optional(json, "target", statistics[i].device);
    write_optional(json, "golden", statistics[i].bench);
    write_optional(json, "diff", difference(statistics[i]));
    write_optional(json, "rel", relative_difference(statistics[i]));
    json.end_object();
  }
}

}  // namespace

void write_place(JsonWriter& json, const TensorRow& row) {
  json.key("rank").value(row.rank).key("graph").value(row.graph).key("token").value(row.token);
  json.key("op").value(row.op).key("side").value(name(row.side));
  json.key("index").value(std::int64_t{row.index});
}

void write_row(JsonWriter& json, const TensorRow& row) {
  json.begin_object();
  write_place(json, row);
  json.key("type").value(row.type).key("file").value(row.file);
  json.key("dtype").value(row.dtype);
  write_shape(json, "shape", row.shape);
  if (!row.format.empty()) json.key("format").value(row.format);
  json.key("status").value(status_text(row.outcome));
  if (!row.reason.empty()) json.key("reason").value(row.reason);
  if (row.bench) {
    json.key("golden").value(row.bench->shown);
    json.key("rule").value(name(row.rule));
  }
  if (row.bench_dtype != row.dtype && !row.bench_dtype.empty()) {
    json.key("golden_dtype").value(row.bench_dtype);
  }
  if (row.bench_shape != row.shape) write_shape(json, "golden_shape", row.bench_shape);
  if (row.real) write_real(json, *row.real);
  if (row.statistics) write_statistics(json, *row.statistics);
  if (row.md5) {
    json.key("target_crc").value(row.md5->device_crc).key("golden_crc").value(row.md5->bench_crc);
    json.key("equal_values").value(row.md5->equal_values);
  }
  if (!row.problem.empty()) json.key("error").value(row.problem);
  if (row.outcome != Outcome::kUnmatched) json.key("differs").value(row.differs);
  if (is_paired(row.outcome)) json.key("verdict").value(verdict_text(row.outcome));
  if (!row.message.empty()) json.key("message").value(row.message);
  if (!row.stack.empty()) json.key("stack").value(row.stack);
  json.end_object();
}

}  // namespace msprobe::torchair
