// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/row_compare.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "documented/judge.h"
#include "final_verdict/texts.h"
#include "tables/number_text.h"

namespace msprobe::final_verdict {
namespace {

using documented::DetailRow;
using documented::Profile;
using documented::Standard;
using documented::Subject;

ComparedRow skipped(const DetailRow& npu, RowFate fate, std::string_view message) {
  return {.row = skip_row(npu.api_name, message), .fate = fate};
}

// "(0, 3)" has no elements; the public tool knows only "(0,)".
bool has_no_elements(std::string_view shape, Profile profile) {
  shape = tables::trim(shape);
  if (profile == Profile::kReference) return shape == "(0,)";
  if (!shape.starts_with('(') || !shape.ends_with(')')) return false;
  shape = shape.substr(1, shape.size() - 2);
  while (!shape.empty()) {
    const std::size_t comma = std::min(shape.find(','), shape.size());
    if (tables::trim(shape.substr(0, comma)) == "0") return true;
    shape.remove_prefix(std::min(comma + 1, shape.size()));
  }
  return false;
}

bool is_built_in(std::string_view dtype) { return dtype.starts_with("<class '"); }

bool has_any_metric(const DetailRow& npu) {
  constexpr std::array kOthers = {&DetailRow::cosine, &DetailRow::max_abs_error,
                                  &DetailRow::dual_100, &DetailRow::dual_10000};
  constexpr std::array kStandards = {Standard::kBenchmark, Standard::kAbsoluteThreshold,
                                     Standard::kBinaryConsistency, Standard::kUlp,
                                     Standard::kDual1000};
  return std::ranges::any_of(kOthers, [&](auto cell) { return !(npu.*cell).blank(); }) ||
         std::ranges::any_of(kStandards, [&](Standard s) { return has_metrics(npu, s); });
}

CompareRow failed_check(const DetailRow& npu, const CompareRules& rules) {
  CompareRow row = skip_row(npu.api_name, kCheckFailed.in(rules.titles));
  row.result = Verdict::kError;
  row.message += npu.message;
  return row;
}

bool not_finite_on_npu_only(const DetailRow& npu, const GpuRow& gpu) {
  return (!finite_or_blank(npu.cosine) && gpu.cosine_finite) ||
         (!finite_or_blank(npu.max_abs_error) && gpu.max_abs_finite);
}

bool gpu_has_benchmark(const GpuRow& gpu) {
  constexpr unsigned kBenchmarkBits = 0b11111;
  return (gpu.blank_metrics & kBenchmarkBits) == 0;
}

// Only where both sides say something.
bool differ(std::uint64_t gpu_hash, std::string_view npu_text) {
  const std::uint64_t npu_hash = text_hash(npu_text);
  return gpu_hash != 0 && npu_hash != 0 && gpu_hash != npu_hash;
}

std::string not_same_text(const DetailRow& npu, const GpuRow& gpu, bool dtype_differs) {
  return fmt::format(
      "The NPU row is {} {}, the GPU row (line {}) has another {}: not the same call.",
      npu.device_dtype, npu.shape, gpu.line, dtype_differs ? "dtype" : "shape");
}

std::string no_metric_text(const DetailRow& npu, Standard standard, const CompareRules& rules) {
  return fmt::format("The NPU row has no metric of the {} (check: {}). {}",
                     algorithm_title(standard, rules.titles), name(npu.status), npu.message);
}

std::string no_gpu_metric_text(Standard standard, const CompareRules& rules) {
  return fmt::format("The GPU row has no metric of the {}.",
                     algorithm_title(standard, rules.titles));
}

bool has_any_of(const DetailRow& npu, const auto& cells) {
  return std::ranges::any_of(cells, [&](auto cell) { return !(npu.*cell).blank(); });
}

// A check by the public tool holds the benchmark's metrics for every API, and none of another
// standard. A check of ours fills them all: one that is missing there makes the row SKIP.
bool has_benchmark_alone(const DetailRow& npu) {
  constexpr std::array kOthers = {
      &DetailRow::inf_nan_error_rate,  &DetailRow::relative_error_rate,
      &DetailRow::absolute_error_rate, &DetailRow::binary_error_rate,
      &DetailRow::mean_ulp_error,      &DetailRow::ulp_error_proportion};
  return has_metrics(npu, Standard::kBenchmark) && !has_any_of(npu, kOthers);
}

// The reference tool judges what is there; blanks are zeros, or an error if they cannot be.
ComparedRow judge_as_public_tool(const DetailRow& npu, Standard standard, const GpuRow& gpu,
                                 const Subject& subject, const CompareRules& rules) {
  const bool blanks_are_zeros = standard == Standard::kBenchmark || standard == Standard::kUlp;
  if (!blanks_are_zeros && !has_metrics(npu, standard)) {
    return skipped(npu, RowFate::kCannotBeJudged, kEmptyCell.in(rules.titles));
  }
  ComparedRow compared{.row = skip_row(npu.api_name, {})};
  judge_row(compared.row, standard, npu, gpu, subject, rules);
  return compared;
}

ComparedRow judge_documented(const DetailRow& npu, Standard listed, const GpuRow& gpu,
                             const Subject& subject, const CompareRules& rules) {
  Standard standard = listed;
  if (!has_metrics(npu, listed) && has_benchmark_alone(npu)) standard = Standard::kBenchmark;
  if (!has_metrics(npu, standard)) {
    if (npu.status == Verdict::kError) return {.row = failed_check(npu, rules)};
    return skipped(npu, RowFate::kCannotBeJudged, no_metric_text(npu, listed, rules));
  }
  const bool dtype_differs = differ(gpu.dtype_hash, npu.device_dtype);
  if (dtype_differs || differ(gpu.shape_hash, npu.shape)) {
    return skipped(npu, RowFate::kNotSame, not_same_text(npu, gpu, dtype_differs));
  }
  if (standard == Standard::kBenchmark && !gpu_has_benchmark(gpu)) {
    return skipped(npu, RowFate::kNoGpuMetric, no_gpu_metric_text(standard, rules));
  }
  ComparedRow compared{.row = skip_row(npu.api_name, {})};
  if (standard != listed) {
    compared.row.message = fmt::format("NOTE: no metric of the {} in the NPU row.\n",
                                       algorithm_title(listed, rules.titles));
  }
  judge_row(compared.row, standard, npu, gpu, subject, rules);
  const bool failed = compared.row.result == Verdict::kError;
  if (failed && standard == Standard::kUlp && !is_float8(subject.dtype) &&
      gpu.metric(kUlpProportion).blank()) {
    return skipped(npu, RowFate::kNoGpuMetric, no_gpu_metric_text(standard, rules));
  }
  if (not_finite_on_npu_only(npu, gpu)) {
    compared.row.result = Verdict::kError;
    compared.row.message += kNotFiniteOnNpu.in(rules.titles);
    compared.row.message += '\n';
  }
  return compared;
}

// Whether an argument was an 8-bit float, which the file has no column for. A check of ours fills
// every metric and says so in the message; the public tool fills those of the absolute threshold
// then and no others.
bool float8_input(const DetailRow& npu, Profile profile) {
  if (npu.relative_error_rate.blank()) return false;
  if (profile == Profile::kReference || !has_any_of(npu, kKeptMetrics)) return true;
  return npu.float8_input;
}

// What the NPU's row alone decides, before any partner is looked at (documented).
std::optional<ComparedRow> decided_alone(const DetailRow& npu, std::string_view problem,
                                         const CompareRules& rules) {
  if (rules.profile == Profile::kReference) return std::nullopt;
  if (!problem.empty()) return skipped(npu, RowFate::kCannotBeJudged, problem);
  if (npu.status == Verdict::kSkip) return skipped(npu, RowFate::kJudged, npu.message);
  if (npu.status == Verdict::kError && !has_any_metric(npu)) {
    return ComparedRow{.row = failed_check(npu, rules)};
  }
  return std::nullopt;
}

std::optional<ComparedRow> without_partner(const DetailRow& npu, const GpuRow* gpu) {
  if (gpu == nullptr) {
    return skipped(npu, RowFate::kNoGpuRow,
                   fmt::format("This API : {} does not exist in the GPU data.", npu.api_name));
  }
  if (gpu->repeated) {
    return skipped(
        npu, RowFate::kRepeatedGpuRow,
        fmt::format("This API : {} has multiple records in the GPU data.", npu.api_name));
  }
  if (gpu->damaged) {
    return skipped(npu, RowFate::kCannotBeJudged,
                   fmt::format("Line {} of the GPU data is damaged.", gpu->line));
  }
  return std::nullopt;
}

}  // namespace

CompareRow skip_row(std::string_view name, std::string_view message) {
  CompareRow row;
  row.api_name = name;
  row.message = message;
  return row;
}

ComparedRow compare_row(const DetailRow& npu, const DetailsName& name, std::string_view problem,
                        const GpuRow* gpu, const CompareRules& rules) {
  if (auto decided = decided_alone(npu, problem, rules)) return *decided;
  if (auto alone = without_partner(npu, gpu)) return *alone;
  if (!problem.empty()) return skipped(npu, RowFate::kCannotBeJudged, problem);
  const std::string_view dtype_text = tables::trim(npu.device_dtype);
  const std::optional<DType> dtype =
      is_built_in(dtype_text) ? DType::kInt64 : parse_dtype(dtype_text);
  const bool unsupported = dtype && !documented::has_new_standard(*dtype);
  if (dtype_text.empty() || unsupported || has_no_elements(npu.shape, rules.profile)) {
    ComparedRow compared = skipped(npu, RowFate::kJudged, npu.message);
    compared.unsupported_dtype = unsupported;
    return compared;
  }
  if (!dtype) {
    return skipped(npu, RowFate::kCannotBeJudged,
                   fmt::format("DEVICE Dtype '{}' is not known.", dtype_text));
  }
  const Subject subject{.api = name.api, .dtype = *dtype, .device = "npu"};
  const Standard standard = documented::standard_for(subject, float8_input(npu, rules.profile),
                                                     rules.profile, rules.standards);
  return rules.profile == Profile::kReference
             ? judge_as_public_tool(npu, standard, *gpu, subject, rules)
             : judge_documented(npu, standard, *gpu, subject, rules);
}

}  // namespace msprobe::final_verdict
