// SPDX-License-Identifier: Apache-2.0
// What the public tool said about recorded pairs, against measure() and measure_reference() in
// reference arithmetic.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "core/float_formats.h"
#include "measure/metrics.h"

namespace msprobe::measure {
namespace {

namespace fs = std::filesystem;
using Json = simdjson::dom::element;

const fs::path kRecorded = MSPROBE_SOURCE_DIR "/tests/data/metrics";

struct Recorded {
  std::string name;
  DType device_dtype;
  DType bench_dtype;
  std::vector<std::byte> device;
  std::vector<std::byte> bench;
  Json expected;
};

// The thresholds of the public tool.
Thresholds reference_thresholds(DType device) {
  Thresholds thresholds{.small_value = 0x1p-20,
                        .small_value_atol = 0x1p-30,
                        .absolute_small_value_atol = 0x1p-30,
                        .rtol = 0x1p-20,
                        .ulp_count = 32,
                        .accumulative_bound = 0x1p-11};
  if (device == DType::kFloat16) thresholds = {0x1p-10, 1e-16, 0x1p-16, 0x1p-10, 1, 0x1p-8};
  if (device == DType::kBFloat16) thresholds = {0x1p-10, 1e-16, 1e-16, 0x1p-8, 1, 0x1p-7};
  return thresholds;
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

using Values = std::map<std::string, double, std::less<>>;

Values values_of(const Metrics& m) {
  return {{"binary.error_rate", ratio(m.different, m.count)},
          {"row.error_rate", ratio(m.different, m.count)},
          {"row.max_abs_err", m.max_abs_error}};
}

Values float_values_of(const Metrics& m) {
  const double small_errors = ratio(m.small_errors, m.small);
  const double thousandth = ratio(m.within_1000, m.count);
  const double not_finite = ratio(m.not_finite_errors, m.not_finite);
  Values values{
      {"benchmark.small_value_err_ratio", small_errors},
      {"benchmark.max_rel_error", m.max_relative_error},
      {"benchmark.mean_rel_error", m.mean_relative_error},
      {"benchmark.rmse", m.rmse},
      {"benchmark.eb", m.error_balance},
      {"absolute_threshold.inf_nan_error_ratio", not_finite},
      {"absolute_threshold.rel_err_ratio", ratio(m.relative_errors, m.normal)},
      {"absolute_threshold.abs_err_ratio", ratio(m.absolute_small_errors, m.small)},
      {"ulp.max_ulp_error", m.max_ulp_error},
      {"ulp.mean_ulp_error", m.mean_ulp_error},
      {"ulp.ulp_error_proportion", ratio(m.ulp_errors, m.count)},
      {"thousandth.rel_err_thousandth", thousandth},
      {"accumulative_error.inf_nan_error_ratio",
       ratio(m.accumulative_not_finite_errors, m.not_finite)},
      {"accumulative_error.rel_err_ratio",
       ratio(m.accumulative_relative_errors, m.accumulative_normal)},
      {"accumulative_error.abs_err_ratio",
       ratio(m.accumulative_small_errors, m.accumulative_small)},
      {"accumulative_error.eb", m.error_balance},
      {"row.cosine_similarity", m.cosine},
      {"row.rel_err_hundredth", ratio(m.within_100, m.count)},
      {"row.rel_err_thousandth", thousandth},
      {"row.rel_err_ten_thousandth", ratio(m.within_10000, m.count)},
      {"row.eb", m.error_balance},
      {"row.rmse", m.rmse},
      {"row.small_value_err_ratio", small_errors},
      {"row.max_rel_err", m.max_relative_error},
      {"row.mean_rel_err", m.mean_relative_error},
      {"row.inf_nan_error_ratio", not_finite},
      {"row.rel_err_ratio", ratio(m.relative_errors, m.normal)},
      {"row.abs_err_ratio", ratio(m.absolute_small_errors, m.small)},
      {"row.max_ulp_err", m.max_ulp_error},
      {"row.mean_ulp_err", m.mean_ulp_error},
      {"row.ulp_err_proportion", ratio(m.ulp_errors, m.count)},
  };
  values.merge(values_of(m));
  return values;
}

// JSON has no NaN: it is written as text.
std::optional<double> number(Json json) {
  double value = 0;
  if (json.is_number() && json.get(value) == simdjson::SUCCESS) return value;
  std::string_view text;
  if (json.get(text) != simdjson::SUCCESS) return std::nullopt;
  if (text == "nan") return NAN;
  if (text == "inf") return INFINITY;
  if (text == "-inf") return -INFINITY;
  return std::nullopt;
}

bool same(double wanted, double got, double tolerance) {
  if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) && std::isnan(got);
  if (wanted == got) return true;
  return std::isfinite(wanted) && std::isfinite(got) &&
         std::abs(wanted - got) <= tolerance * std::max(std::abs(wanted), std::abs(got)) + 1e-12;
}

// The numbers of the recorded answer that concern this pair, by "algorithm.metric".
Values wanted_of(const Recorded& recorded) {
  const bool floats = is_float(recorded.device_dtype) && is_float(recorded.bench_dtype);
  Values wanted;
  const auto take = [&wanted](std::string_view place, Json values) {
    for (const auto field : values.get_object()) {
      const std::optional<double> value = number(field.value);
      if (value) wanted.emplace(std::string(place) + "." + std::string(field.key), *value);
    }
  };
  Json algorithms;
  if (recorded.expected["algorithms"].get(algorithms) == simdjson::SUCCESS) {
    for (const auto field : algorithms.get_object()) {
      const bool raised = field.value["exception"].error() == simdjson::SUCCESS;
      if (!raised && (floats || field.key == "binary")) take(field.key, field.value);
    }
  }
  Json row;
  if (recorded.expected["acc_check_row"]["values"].get(row) == simdjson::SUCCESS) take("row", row);
  return wanted;
}

std::size_t expect_recorded_answer(const Recorded& recorded) {
  const bool floats = is_float(recorded.device_dtype) && is_float(recorded.bench_dtype);
  const double tolerance = size_bytes(recorded.device_dtype) == 2 ? 1e-4 : 1e-6;
  const TensorView device{recorded.device_dtype, {}, recorded.device};
  const TensorView bench{recorded.bench_dtype, {}, recorded.bench};
  const MeasureOptions options{.thresholds = reference_thresholds(recorded.device_dtype),
                               .arithmetic = Arithmetic::kReference};
  std::size_t compared = 0;
  for (const auto function : {&measure, &measure_reference}) {
    const Metrics metrics = function(device, bench, options);
    const Values got = floats ? float_values_of(metrics) : values_of(metrics);
    for (const auto& [name, wanted] : wanted_of(recorded)) {
      const auto found = got.find(name);
      if (found == got.end()) {
        ADD_FAILURE() << recorded.name << ": nothing measured for " << name;
        continue;
      }
      EXPECT_TRUE(same(wanted, found->second, tolerance))
          << recorded.name << ": " << name << " wanted " << wanted << ", got " << found->second;
      compared += 1;
    }
  }
  return compared;
}

// The data of a version 1 npy file. bfloat16 is stored there as float32 of the same values.
std::vector<std::byte> read_npy(const fs::path& path, DType dtype) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t header = 10 + static_cast<unsigned char>(text.at(8)) +
                             256 * static_cast<std::size_t>(static_cast<unsigned char>(text.at(9)));
  std::vector<std::byte> bytes(text.size() - header);
  std::ranges::copy(std::as_bytes(std::span(text)).subspan(header), bytes.begin());
  if (dtype != DType::kBFloat16) return bytes;
  std::vector<std::byte> narrow(bytes.size() / 2);
  for (std::size_t i = 0; i < narrow.size() / 2; ++i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    const std::uint16_t bits = float_to_bfloat16(value);
    std::memcpy(narrow.data() + 2 * i, &bits, 2);
  }
  return narrow;
}

std::string text_of(Json json, const char* key) {
  return std::string(json[key].get_string().value());
}

DType dtype_of(Json json, const char* key) { return parse_dtype(text_of(json, key)).value(); }

TEST(Golden, EveryRecordedPairIsMeasuredAsRecorded) {
  simdjson::dom::parser parser;
  std::size_t compared = 0;
  for (const Json json : parser.load((kRecorded / "index.json").string())["cases"].get_array()) {
    const DType device = dtype_of(json, "device_torch_dtype");
    const DType bench = dtype_of(json, "bench_torch_dtype");
    Recorded recorded{text_of(json, "case"),
                      device,
                      bench,
                      read_npy(kRecorded / text_of(json, "device"), device),
                      read_npy(kRecorded / text_of(json, "bench"), bench),
                      json["expected"]};
    if (recorded.device.size() / size_bytes(device) != recorded.bench.size() / size_bytes(bench)) {
      continue;  // shapes differ: nothing is measured
    }
    compared += expect_recorded_answer(recorded);
  }
  EXPECT_GT(compared, 5000U);
}

}  // namespace
}  // namespace msprobe::measure
