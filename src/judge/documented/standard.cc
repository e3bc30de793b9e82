// SPDX-License-Identifier: Apache-2.0
#include "documented/standard.h"

#include <algorithm>
#include <array>

namespace msprobe::documented {
namespace {

// The rows are for float32, float16, bfloat16; every other dtype takes the first.
struct ThresholdRow {
  DType dtype;
  measure::Thresholds thresholds;
};

// Origin of each column:
//   small_value, both atol   document of the offline pre-check, "Small Value Range"
//   rtol                     public tool; the documents give no figure
//   ulp_count                document, "Proportion of ULP errors greater than the threshold"
//   accumulative_bound       public tool; no real API uses it
constexpr ThresholdRow kDocumented[] = {
    // dtype              small     atol      atol (abs) rtol      ulp  accumulative
    {DType::kFloat32, {0x1p-14, 0x1p-30, 0x1p-30, 0x1p-20, 32, 0x1p-11}},
    {DType::kFloat16, {0x1p-11, 0x1p-16, 0x1p-16, 0x1p-10, 1, 0x1p-8}},
    {DType::kBFloat16, {0x1p-8, 0x1p-16, 0x1p-16, 0x1p-8, 1, 0x1p-7}},
};

// The public tool's own numbers. Its 1e-16 looks like a slip for 2^-16.
constexpr ThresholdRow kReference[] = {
    {DType::kFloat32, {0x1p-20, 0x1p-30, 0x1p-30, 0x1p-20, 32, 0x1p-11}},
    {DType::kFloat16, {0x1p-10, 1e-16, 0x1p-16, 0x1p-10, 1, 0x1p-8}},
    {DType::kBFloat16, {0x1p-10, 1e-16, 1e-16, 0x1p-8, 1, 0x1p-7}},
};

struct LevelLimits {
  Level level;
  double rmse_ratio, max_relative_error_ratio, mean_relative_error_ratio;
};

// Document of the offline pre-check, the determination results of api_precision_compare_details.
constexpr LevelLimits kLevelLimits[] = {
    {Level::kL0, 2, 10, 2},
    {Level::kL1, 1.5, 5, 1.5},
    {Level::kL2, 1.2, 2, 1.2},
};

// The same document, "ULP error determination result". Only float32 has a limit for the mean; for
// 8-bit floats the proportion is the public tool's.
constexpr double kMeanUlpFloat32 = 64;
constexpr double kUlpProportionFloat32 = 0.05;
constexpr double kUlpProportion = 0.001;

template <class T>
bool chosen(const std::vector<T>& wanted, const auto& value) {
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

bool applies(const Rule& rule, const Subject& subject) {
  return chosen(rule.apis, subject.api) && chosen(rule.dtypes, subject.dtype) &&
         chosen(rule.devices, subject.device);
}

template <class Numbers>
void apply(Numbers& numbers, std::vector<Setting<Numbers>> Rule::* settings, const Subject& subject,
           const Standards& standards) {
  for (const Rule& rule : standards.rules) {
    if (!applies(rule, subject)) continue;
    for (const Setting<Numbers>& setting : rule.*settings) numbers.*setting.member = setting.value;
  }
}

template <class T>
std::optional<T> last_set(std::optional<T> Rule::* member, const Subject& subject,
                          const Standards& standards) {
  std::optional<T> value;
  for (const Rule& rule : standards.rules) {
    if (rule.*member && applies(rule, subject)) value = rule.*member;
  }
  return value;
}

}  // namespace

bool has_new_standard(DType device) { return device != DType::kFloat64 && !is_complex(device); }

Standard standard_for(const Subject& subject, bool float8_input, Profile profile,
                      const Standards& standards) {
  if (!has_new_standard(subject.dtype)) return Standard::kNone;
  if (!is_integer_or_bool(subject.dtype)) {
    const auto own = last_set(&Rule::standard, subject, standards);
    if (own) return *own;
  }
  if (is_float8(subject.dtype)) return Standard::kUlp;
  if (float8_input) return Standard::kAbsoluteThreshold;
  if (is_integer_or_bool(subject.dtype)) return Standard::kBinaryConsistency;
  if (profile == Profile::kReference) return Standard::kBenchmark;
  return listed_standard(subject.api);
}

Standard listed_standard(std::string_view api) { return ops::traits_of(api).standard; }

Level listed_level(std::string_view api, Profile profile) {
  // The public tool knows the module GELU alone and never finds the function of a dump.
  if (profile == Profile::kReference && api == "gelu") return Level::kL0;
  return ops::traits_of(api).level;
}

Level level_for(const Subject& subject, Profile profile, const Standards& standards) {
  const auto own = last_set(&Rule::level, subject, standards);
  return own.value_or(listed_level(subject.api, profile));
}

measure::Thresholds thresholds_for(const Subject& subject, Profile profile,
                                   const Standards& standards) {
  const auto& rows = profile == Profile::kDocumented ? kDocumented : kReference;
  const auto* row = std::ranges::find(rows, subject.dtype, &ThresholdRow::dtype);
  if (row == std::end(rows)) row = std::begin(rows);
  measure::Thresholds thresholds = row->thresholds;
  if (subject.dtype != DType::kFloat32) thresholds.ulp_count = 1;
  apply(thresholds, &Rule::thresholds, subject, standards);
  return thresholds;
}

LadderLimits ladder_for(const Subject& subject, const Standards& standards) {
  LadderLimits limits;
  apply(limits, &Rule::ladder, subject, standards);
  return limits;
}

CompareLimits limits_for(const Subject& subject, Profile profile, const Standards& standards) {
  CompareLimits limits;
  const LevelLimits& level =
      kLevelLimits[static_cast<std::size_t>(level_for(subject, profile, standards))];
  limits.rmse_ratio = level.rmse_ratio;
  limits.max_relative_error_ratio = level.max_relative_error_ratio;
  limits.mean_relative_error_ratio = level.mean_relative_error_ratio;
  if (subject.dtype == DType::kFloat32) limits.mean_ulp = kMeanUlpFloat32;
  limits.ulp_proportion = subject.dtype == DType::kFloat32 ? kUlpProportionFloat32 : kUlpProportion;
  apply(limits, &Rule::limits, subject, standards);
  return limits;
}

}  // namespace msprobe::documented
