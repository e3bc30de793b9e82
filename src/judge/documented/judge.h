// SPDX-License-Identifier: Apache-2.0
// From what was measured of one output to its row: cells, status, message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/python_value.h"
#include "core/tensor.h"
#include "core/verdict.h"
#include "documented/detail_row.h"
#include "documented/profile.h"
#include "documented/standard.h"
#include "measure/metrics.h"

namespace msprobe::documented {

// Of which output, and by whose rules.
struct Context {
  std::string_view row_name;     // "Functional.conv2d.0.forward.output.0"
  std::string_view api;          // bare name: "conv2d"
  std::string_view device = {};  // kind of device: "npu", "cuda", "cpu", "sim", "recorded"
  bool float8_input = false;     // an argument of the call was an 8-bit float
  Profile profile = Profile::kDocumented;
  const Standards& standards;
};

// What both sides say of a tensor beside its elements.
struct OutputPair {
  DType bench_dtype = DType::kFloat32;
  std::span<const std::int64_t> bench_shape;
  DType device_dtype = DType::kFloat32;
  std::span<const std::int64_t> device_shape;
};

// The row of a pair that needs no measuring: shapes differ, dtypes cannot be compared, no elements.
// Empty: measure the pair and ask judge_tensor.
std::optional<DetailRow> judge_structure(const OutputPair& pair, const Context& context);

// REQUIRES: judge_structure left the pair open; metrics were taken with thresholds_for(...) and the
// profile's arithmetic.
DetailRow judge_tensor(const OutputPair& pair, const measure::Metrics& metrics,
                       const Context& context);

DetailRow judge_value(const PythonValue& bench, const PythonValue& device, const Context& context);

// A row that says only why there is nothing to compare.
DetailRow reason_row(std::string_view row_name, Verdict status, std::string_view message);
// A SKIP row; the text of `why` is the message.
DetailRow skip_row(std::string_view row_name, const Skip& why);

// What judge_tensor needs of measure for this pair.
measure::MeasureOptions measure_options(const OutputPair& pair, const Context& context,
                                        int threads = 1);

// Profile documented: messages are one line.
void add_sentence(std::string& message, std::string_view sentence);

// In the message of such a row, where api_precision_compare finds it when it reads the CSV.
inline constexpr std::string_view kFloat8Input =
    "An argument is an 8-bit float: the absolute threshold applies.";

std::string shape_text(std::span<const std::int64_t> shape);  // "(2, 3)", "(3,)", "()"

}  // namespace msprobe::documented
