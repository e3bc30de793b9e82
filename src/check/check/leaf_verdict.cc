// SPDX-License-Identifier: Apache-2.0
#include "check/leaf_verdict.h"

#include <algorithm>

#include <fmt/format.h>

#include "documented/dropout.h"

namespace msprobe::check {
namespace {

using documented::DetailRow;
using protocol::LeafKind;
using protocol::MeasuredLeaf;

constexpr std::string_view kTypesDiffer = "bench and npu output type is different.";
constexpr std::string_view kStructureDiffers = "bench and npu output structure is different.";
constexpr std::string_view kKeysDiffer = "bench and npu output dict keys are different.";

DetailRow error_row(const documented::Context& context, std::string_view message) {
  return documented::reason_row(context.row_name, Verdict::kError, message);
}

// Both sides drop by chance from the same input, so the bench tells how many zeros came with it.
documented::DropoutCall dropout_call(const protocol::DropoutFacts& facts, double elements) {
  documented::DropoutCall call{.p = facts.probability};
  if (!call.p || *call.p >= 1 || elements == 0) return call;
  const double bench_share = static_cast<double>(facts.bench_zeros) / elements;
  call.input_zeros = std::clamp((bench_share - *call.p) / (1 - *call.p), 0.0, 1.0);
  return call;
}

DetailRow judge_tensor_leaf(const MeasuredLeaf& leaf, const documented::Context& context) {
  if (!leaf.bench.dtype || !leaf.device.dtype) {
    return error_row(
        context, fmt::format("Bench out dtype is {} but npu output dtype is {}, cannot compare.",
                             leaf.bench.type(), leaf.device.type()));
  }
  const documented::OutputPair pair{*leaf.bench.dtype, leaf.bench.shape, *leaf.device.dtype,
                                    leaf.device.shape};
  if (auto row = documented::judge_structure(pair, context)) return *row;
  const bool drops = leaf.dropout && leaf.dropout->probability != 0.0 &&
                     documented::judged_by_zeros(context.api, context.profile);
  if (!drops) return documented::judge_tensor(pair, leaf.metrics, context);
  return documented::judge_dropout(
      pair, {leaf.dropout->bench_zeros, 0}, {leaf.dropout->device_zeros, 0},
      dropout_call(*leaf.dropout, static_cast<double>(leaf.metrics.count)), context);
}

}  // namespace

DetailRow judge_leaf(const MeasuredLeaf& leaf, const documented::Context& context) {
  switch (leaf.kind) {
    case LeafKind::kTensor:
    case LeafKind::kShapesDiffer:
      return judge_tensor_leaf(leaf, context);
    case LeafKind::kValue:
      return documented::judge_value(leaf.bench.value.value_or(PythonValue()),
                                     leaf.device.value.value_or(PythonValue()), context);
    case LeafKind::kNone:
      return documented::judge_value({}, {}, context);
    case LeafKind::kTypesDiffer:
      return error_row(context, kTypesDiffer);
    case LeafKind::kDeviceMissing:
      return error_row(context, kStructureDiffers);
    case LeafKind::kKeysDiffer:
      return error_row(context, kKeysDiffer);
  }
  return error_row(context, kTypesDiffer);
}

}  // namespace msprobe::check
