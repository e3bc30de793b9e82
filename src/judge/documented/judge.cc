// SPDX-License-Identifier: Apache-2.0
#include "documented/judge.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "documented/cells.h"
#include "documented/ladder.h"

namespace msprobe::documented {
namespace {

DetailRow start_row(const OutputPair& pair, const Context& context) {
  DetailRow row;
  row.api_name = context.row_name;
  row.bench_dtype = text(pair.bench_dtype);
  row.device_dtype = text(pair.device_dtype);
  row.shape = shape_text(pair.device_shape);
  return row;
}

// Bool goes with uint8, the other integers with each other; the public tool knows only three of
// them.
bool comparable_integers(DType bench, DType device, Profile profile) {
  const auto like_bool = [](DType d) { return d == DType::kBool || d == DType::kUInt8; };
  if (like_bool(bench) || like_bool(device)) return like_bool(bench) && like_bool(device);
  const auto known = [&](DType d) {
    return profile == Profile::kDocumented || d == DType::kInt8 || d == DType::kInt32 ||
           d == DType::kInt64;
  };
  return known(bench) && known(device);
}

bool comparable(DType bench, DType device, Profile profile) {
  const auto floating = [](DType d) { return is_float(d) || is_float8(d); };
  if (floating(bench) && floating(device)) return true;
  if (is_complex(bench) && is_complex(device)) return profile == Profile::kDocumented;
  if (is_integer_or_bool(bench) && is_integer_or_bool(device)) {
    return comparable_integers(bench, device, profile);
  }
  return false;
}

// The public tool ends the message with a line break.
std::string_view line_end(Profile profile) { return profile == Profile::kReference ? "\n" : ""; }

void judge_quantized(DetailRow& row, const measure::Metrics& metrics, Profile profile) {
  if (profile == Profile::kReference) {
    row.max_abs_error = {Cell::Kind::kInteger, metrics.max_abs_error};
  }
  const bool close = metrics.max_abs_error <= 1;  // public tool: one step of the quantisation
  row.status = close ? Verdict::kPass : Verdict::kError;
  row.message = fmt::format(
      "Quantization type: Max abs error is {:.2f}, {}{}", metrics.max_abs_error,
      close ? "less than or equal to 1, consider as pass." : "greater than 1, consider as error.",
      line_end(profile));
}

void judge_integers(DetailRow& row, const OutputPair& pair, const measure::Metrics& metrics,
                    const Context& context) {
  const auto& quantized = context.standards.quantization_apis;
  if (context.profile == Profile::kDocumented) {
    fill_measured(row, Standard::kBinaryConsistency, metrics, pair);
  }
  if (std::ranges::find(quantized, context.api) != quantized.end()) {
    return judge_quantized(row, metrics, context.profile);
  }
  fill_standard(row, Standard::kBinaryConsistency, metrics, pair, context.profile);
  row.status = metrics.different == 0 ? Verdict::kPass : Verdict::kError;
  row.message =
      fmt::format("Current {} data, only perform binary comparison.", name(pair.bench_dtype));
}

// What is equal bit for bit has no error, also where it is infinite or NaN, of which differences
// and ratios make a NaN.
measure::Metrics settled(measure::Metrics metrics) {
  if (!metrics.identical) return metrics;
  if (std::isnan(metrics.cosine)) metrics.cosine = 1;
  metrics.max_abs_error = metrics.max_ulp_error = metrics.mean_ulp_error = 0;
  metrics.within_100 = metrics.within_1000 = metrics.within_10000 = metrics.count;
  metrics.different = metrics.ulp_errors = 0;
  return metrics;
}

}  // namespace

void add_sentence(std::string& message, std::string_view sentence) {
  if (!message.empty() && !sentence.empty()) message += ' ';
  message += sentence;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

DetailRow skip_row(std::string_view row_name, const Skip& why) {
  DetailRow row = reason_row(row_name, Verdict::kSkip, why.text);
  row.skip = why.reason;
  return row;
}

DetailRow reason_row(std::string_view row_name, Verdict status, std::string_view message) {
  DetailRow row;
  row.api_name = row_name;
  row.status = status;
  row.message = message;
  return row;
}

measure::MeasureOptions measure_options(const OutputPair& pair, const Context& context,
                                        int threads) {
  const Subject subject{.api = context.api, .dtype = pair.device_dtype, .device = context.device};
  return {.thresholds = thresholds_for(subject, context.profile, context.standards),
          .arithmetic = context.profile == Profile::kDocumented ? measure::Arithmetic::kDocumented
                                                                : measure::Arithmetic::kReference,
          .threads = threads};
}

std::optional<DetailRow> judge_structure(const OutputPair& pair, const Context& context) {
  DetailRow row = start_row(pair, context);
  if (!std::ranges::equal(pair.bench_shape, pair.device_shape)) {
    row.status = Verdict::kError;
    row.message =
        fmt::format("The shape of benchtorch.Size([{}]) and nputorch.Size([{}]) not equal.",
                    fmt::join(pair.bench_shape, ", "), fmt::join(pair.device_shape, ", "));
    return row;
  }
  if (!comparable(pair.bench_dtype, pair.device_dtype, context.profile)) {
    row.status = Verdict::kError;
    row.message = fmt::format("Bench out dtype is {} but npu output dtype is {}, cannot compare.",
                              name(pair.bench_dtype), name(pair.device_dtype));
    return row;
  }
  if (std::ranges::find(pair.device_shape, 0) != pair.device_shape.end()) {
    row.message = "There is not bench calculation result.";
    return row;
  }
  return std::nullopt;
}

DetailRow judge_tensor(const OutputPair& pair, const measure::Metrics& measured,
                       const Context& context) {
  const bool documented = context.profile == Profile::kDocumented;
  const measure::Metrics metrics = documented ? settled(measured) : measured;
  DetailRow row = start_row(pair, context);
  if (is_integer_or_bool(pair.device_dtype)) {
    judge_integers(row, pair, metrics, context);
    return row;
  }
  const Subject subject{.api = context.api, .dtype = pair.device_dtype, .device = context.device};
  if (!has_new_standard(pair.device_dtype)) {
    row.message = fmt::format("The data type {} is not supported for new precision standard.",
                              text(pair.device_dtype));
  }
  const Standard standard =
      standard_for(subject, context.float8_input, context.profile, context.standards);
  if (documented && context.float8_input && standard == Standard::kAbsoluteThreshold) {
    add_sentence(row.message, kFloat8Input);
    row.float8_input = true;
  }
  climb_ladder(row, metrics, pair.device_dtype, ladder_for(subject, context.standards),
               context.profile, error_kind(pair, context.profile));
  if (documented) {
    fill_measured(row, standard, metrics, pair);
  } else {
    fill_standard(row, standard, metrics, pair, context.profile);
  }
  return row;
}

}  // namespace msprobe::documented
