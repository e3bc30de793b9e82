// SPDX-License-Identifier: Apache-2.0
#include "documented/mindspore.h"

#include <array>

#include <fmt/format.h>

#include "documented/result_row.h"

namespace msprobe::documented {
namespace {

// The texts are the public tool's, to the letter.
constexpr std::string_view kLowCosine = "cosine similarity is less than threshold: {} ";
constexpr std::string_view kLargeError = "max absolute difference is greater than threshold: {} ";
constexpr std::string_view kNotComparable =
    "two inputs are not valid for computing cosine similarity, skip comparing two inputs are not "
    "valid for computing max absolute difference, skip comparing ";

constexpr std::array<std::string_view, kDTypeCount> kMindSporeNames = {
    "Bool",     "UInt8",          "UInt16",         "UInt32",        "UInt64",        "Int8",
    "Int16",    "Int32",          "Int64",          "Float16",       "BFloat16",      "Float32",
    "Float64",  "Complex32",      "Complex64",      "Complex128",    "Float8E4M3FN",  "Float8E5M2",
    "HiFloat8", "Float8E4M3FNUZ", "Float8E5M2FNUZ", "Float8E8M0FNU", "Float4E2M1FNx2"};

// "int" of "<class 'int'>", "Float32" of "torch.float32"; anything else as it is.
std::string mindspore_type_text(std::string_view type) {
  constexpr std::string_view kClass = "<class '";
  if (type.starts_with(kClass) && type.ends_with("'>")) {
    return std::string(type.substr(kClass.size(), type.size() - kClass.size() - 2));
  }
  const auto dtype = parse_dtype(type);
  return std::string(dtype ? mindspore_name(*dtype) : type);
}

DetailRow start_mindspore(std::string_view bench_type, std::string_view device_type,
                          const Context& context) {
  DetailRow row;
  row.api_name = context.row_name;
  row.bench_dtype = mindspore_type_text(bench_type);
  row.device_dtype = mindspore_type_text(device_type);
  return row;
}

void append_messages(ResultRow& out, std::span<const DetailRow> rows) {
  for (const DetailRow& row : rows) {
    if (row.status == Verdict::kPass) continue;
    if (out.message.empty()) out.skip = row.skip;
    out.message += row.message;
  }
}

}  // namespace

MindSporeLimits mindspore_limits(Profile profile) {
  return profile == Profile::kDocumented ? MindSporeLimits{} : MindSporeLimits{0.99, 0.001};
}

std::string_view mindspore_name(DType dtype) {
  return kMindSporeNames[static_cast<std::size_t>(dtype)];
}

DetailRow judge_mindspore_tensor(const OutputPair& pair, const measure::Metrics& metrics,
                                 const Context& context) {
  DetailRow row = start_mindspore(text(pair.bench_dtype), text(pair.device_dtype), context);
  row.shape = shape_text(pair.bench_shape);
  row.cosine = {Cell::Kind::kDouble, metrics.cosine};
  row.max_abs_error = {Cell::Kind::kDouble, metrics.max_abs_error};
  row.max_relative_error = {Cell::Kind::kDouble, metrics.max_relative_error};
  const MindSporeLimits limits = mindspore_limits(context.profile);
  // Written so that a NaN is not within.
  if (!(metrics.cosine > limits.cosine)) row.message += fmt::format(kLowCosine, limits.cosine);
  if (!(metrics.max_abs_error < limits.max_abs_error)) {
    row.message += fmt::format(kLargeError, limits.max_abs_error);
  }
  row.status = row.message.empty() ? Verdict::kPass : Verdict::kError;
  return row;
}

DetailRow judge_mindspore_value(const PythonValue& bench, const PythonValue& device,
                                const Context& context) {
  DetailRow row = start_mindspore(python_type(bench), python_type(device), context);
  Context documented = context;
  documented.profile = Profile::kDocumented;
  const DetailRow compared = judge_value(bench, device, documented);
  row.status = compared.status == Verdict::kPass ? Verdict::kPass : Verdict::kError;
  if (row.status == Verdict::kError) row.message = "the results are not equal ";
  return row;
}

DetailRow mindspore_mismatch(std::string_view bench_type, std::string_view device_type,
                             std::string_view shape, const Context& context) {
  DetailRow row = start_mindspore(bench_type, device_type, context);
  if (!shape.empty()) row.shape = shape;
  row.status = Verdict::kError;
  row.message = kNotComparable;
  return row;
}

ResultRow conclude_mindspore(std::string_view api_name, std::span<const DetailRow> forward,
                             std::span<const DetailRow> backward, Profile /*profile*/,
                             bool backward_skipped) {
  ResultRow result = conclude(api_name, forward, backward, Profile::kDocumented, backward_skipped);
  result.message.clear();
  result.skip = SkipReason::kNone;
  append_messages(result, forward);
  append_messages(result, backward);
  return result;
}

}  // namespace msprobe::documented
