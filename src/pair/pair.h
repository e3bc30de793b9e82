// SPDX-License-Identifier: Apache-2.0
// One pair of tensors, held against each other: every metric, and the verdict of an API's standard.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "judge/detail_row.h"
#include "judge/judge.h"
#include "judge/profile.h"
#include "judge/standard.h"
#include "measure/metrics.h"

namespace msprobe::pair {

struct PairOptions {
  std::string_view api;  // its standard applies: "conv2d" or "Functional.conv2d.0"; empty: none
  judge::Profile profile = judge::Profile::kDocumented;
  int threads = 1;
};

struct Evaluation {
  judge::OutputPair pair;
  judge::DetailRow row;
  std::optional<measure::Metrics> metrics;  // empty: the pair cannot be measured
};

// The views must outlive the answer, whose shapes are theirs.
Evaluation evaluate(const TensorView& bench, const TensorView& device, const PairOptions& options,
                    const judge::Standards& standards);

// Keys as `msprobe metrics --json` prints them: "row", the cells of a details row; "algorithms",
// the cells of each algorithm.
std::string to_json(const Evaluation& answer, judge::Profile profile);

// What a person reads: a title and a value each, metrics that the pair does not have left out.
struct TitledValue {
  std::string title;
  std::string value;
};
std::vector<TitledValue> to_titled_values(const Evaluation& answer, judge::Profile profile);

}  // namespace msprobe::pair
