// SPDX-License-Identifier: Apache-2.0
// How an operator that ran in slices (FFTS+) was cut: what the first attribute of its files says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "ge/dump_file.h"

namespace msprobe::ge {

// Elements lower .. higher of one axis.
struct AxisRange {
  std::int64_t lower = 0;
  std::int64_t higher = 0;
  friend bool operator==(const AxisRange&, const AxisRange&) = default;
};

struct SliceInfo {
  bool automatic = false;       // a file per thread, else one per "_lxslice<k>" name
  std::uint64_t instances = 0;  // slices of one execution; 0: not said
  // For each tensor and axis: into how many parts it is cut.
  std::vector<std::vector<std::int64_t>> input_cuts;
  std::vector<std::vector<std::int64_t>> output_cuts;
  // For each slice, tensor and axis; empty if the file does not say.
  std::vector<std::vector<std::vector<AxisRange>>> input_ranges;
  std::vector<std::vector<std::vector<AxisRange>>> output_ranges;
};

// An error if there is no such attribute or it is not JSON of that form.
Result<SliceInfo> read_slice_info(const DumpFile& file);

// Where one tensor of the whole operator is.
struct JoinedTensor {
  std::vector<std::size_t> slices;  // in order along the axis; one: that slice has all of it
  std::size_t axis = 0;
  std::string unknown;  // why it is not known
};

struct JoinPlan {
  std::vector<JoinedTensor> inputs;
  std::vector<JoinedTensor> outputs;
};

// Slices of one execution, in order of time and number; `numbers` are those of thread or slice.
// Without a cut output the newest slice stands for the operator.
JoinPlan plan_join(const SliceInfo& info, std::span<const std::uint32_t> numbers,
                   std::size_t inputs, std::size_t outputs);
bool is_cut(const SliceInfo& info);

// "Conv2D_lxslice3": the operator "Conv2D", slice 3.
struct SliceName {
  std::string_view op;
  std::uint32_t number = 0;
};
std::optional<SliceName> parse_slice_name(std::string_view op_name);

}  // namespace msprobe::ge
