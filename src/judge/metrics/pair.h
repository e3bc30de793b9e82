// SPDX-License-Identifier: Apache-2.0
// One pair of tensors, held against each other: every metric, and the verdict of an API's standard.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "documented/detail_row.h"
#include "documented/judge.h"
#include "documented/profile.h"
#include "documented/standard.h"
#include "measure/metrics.h"

namespace msprobe::metrics {

struct PairOptions {
  std::string_view api;  // its standard applies: "conv2d" or "Functional.conv2d.0"; empty: none
  documented::Profile profile = documented::Profile::kDocumented;
  int threads = 1;
};

struct Evaluation {
  documented::OutputPair pair;
  documented::DetailRow row;
  std::optional<measure::Metrics> metrics;  // empty: the pair cannot be measured
};

// The views must outlive the answer, whose shapes are theirs.
Evaluation evaluate(const TensorView& bench, const TensorView& device, const PairOptions& options,
                    const documented::Standards& standards);

// Keys as `msprobe metrics --json` prints them: "row", the cells of a details row; "algorithms",
// the cells of each algorithm.
std::string to_json(const Evaluation& answer, documented::Profile profile);

// What a person reads: a title and a value each, metrics that the pair does not have left out.
struct TitledValue {
  std::string title;
  std::string value;
};
std::vector<TitledValue> to_titled_values(const Evaluation& answer, documented::Profile profile);

}  // namespace msprobe::metrics
