// SPDX-License-Identifier: Apache-2.0
// Verdicts of MindSpore's check: one rule for every output.
#pragma once

#include <span>
#include <string_view>

#include "documented/detail_row.h"
#include "documented/judge.h"
#include "documented/profile.h"

namespace msprobe::documented {

// An output passes when its cosine is above and its maximum absolute error below.
struct MindSporeLimits {
  double cosine = 0.99;
  double max_abs_error = 0.0001;
};

// The public tool's limit of the absolute error is 0.001.
MindSporeLimits mindspore_limits(Profile profile);

// "Float32", "BFloat16", as MindSpore's dumps spell it.
std::string_view mindspore_name(DType dtype);

// Two tensors of equal shape; of an empty pair nothing can be wrong.
DetailRow judge_mindspore_tensor(const OutputPair& pair, const measure::Metrics& metrics,
                                 const Context& context);

// Results that are not tensors pass when they are equal.
DetailRow judge_mindspore_value(const PythonValue& bench, const PythonValue& device,
                                const Context& context);

// Nothing to measure: other shapes, other types, a missing output. Always an error.
DetailRow mindspore_mismatch(std::string_view bench_type, std::string_view device_type,
                             std::string_view shape, const Context& context);

// The messages of all outputs that fail, the forward ones first.
ResultRow conclude_mindspore(std::string_view api_name, std::span<const DetailRow> forward,
                             std::span<const DetailRow> backward, Profile profile,
                             bool backward_skipped);

}  // namespace msprobe::documented
