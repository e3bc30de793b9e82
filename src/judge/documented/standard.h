// SPDX-License-Identifier: Apache-2.0
// By which standard an output is judged, and against which numbers. docs/standards.md lists them
// all with their origin.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "documented/profile.h"
#include "measure/metrics.h"
#include "ops/op.h"

namespace msprobe::documented {

using ops::Level;
using ops::name;
using ops::Standard;

// First verdict: what a floating output must meet, in the order of the ladder.
struct LadderLimits {
  double cosine = 0.99;          // error unless above
  double max_abs_error = 0.001;  // pass when below
  double dual_100 = 0.99;        // met when above, as the next two
  double dual_1000 = 0.999;
  double dual_10000 = 0.9999;
};

// Final verdict: what a device must meet beside the reference device.
struct CompareLimits {
  double small_value_error_ratio = 2;  // the ratios pass at or below
  double rmse_ratio = 2;
  double max_relative_error_ratio = 10;
  double mean_relative_error_ratio = 2;
  double error_balance_ratio = 2;  // shown, never decides
  double mean_ulp = 0;             // below: pass
  double ulp_proportion = 0;       // below: pass
  double dual_1000 = 0.999;        // above: pass (profile reference: at or above)
};

// One number of a user's standards file, and where it goes.
template <class Numbers>
struct Setting {
  double Numbers::* member;
  double value;
};

// One rule of a user's standards file: for whom, and what. An empty selection means everyone.
struct Rule {
  std::vector<std::string> apis;  // bare names: "conv2d"
  std::vector<DType> dtypes;      // of the device output
  std::vector<std::string> devices;
  std::optional<Standard> standard;
  std::optional<Level> level;
  std::vector<Setting<measure::Thresholds>> thresholds;
  std::vector<Setting<LadderLimits>> ladder;
  std::vector<Setting<CompareLimits>> limits;
};

// What the user changed of the built-in tables. Later rules win over earlier ones, number by
// number.
struct Standards {
  std::vector<Rule> rules;
  // Integer outputs of these APIs may be off by one (quantization_api_list of config.yaml).
  std::vector<std::string> quantization_apis = {"npu_dynamic_quant", "npu_quant_lightning_indexer",
                                                "npu_rms_norm_dynamic_quant"};
};

// What a rule can be about.
struct Subject {
  std::string_view api = {};      // bare name; empty: no particular API
  DType dtype = DType::kFloat32;  // of the device output
  std::string_view device = {};   // "npu", "cuda", "cpu", "sim", "recorded"; empty: unknown
};

// The standard of one output. `float8_input`: an argument of the call was an 8-bit float.
Standard standard_for(const Subject& subject, bool float8_input, Profile profile,
                      const Standards& standards);
Level level_for(const Subject& subject, Profile profile, const Standards& standards);

measure::Thresholds thresholds_for(const Subject& subject, Profile profile,
                                   const Standards& standards);
LadderLimits ladder_for(const Subject& subject, const Standards& standards);
CompareLimits limits_for(const Subject& subject, Profile profile, const Standards& standards);

// The built-in lists alone.
Standard listed_standard(std::string_view api);
Level listed_level(std::string_view api, Profile profile);

// Whether the metrics of the new standard exist for the dtype; float64 and complex have none.
bool has_new_standard(DType device);

}  // namespace msprobe::documented
