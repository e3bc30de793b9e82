// SPDX-License-Identifier: Apache-2.0
#include "ge/slice_info.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <simdjson.h>

namespace msprobe::ge {
namespace {

namespace dom = simdjson::dom;

// Lists of lists of numbers, to any depth; false for anything else.
bool read_value(const dom::element& json, std::int64_t& value) {
  if (json.is_bool()) {
    value = json.get_bool().value_unsafe() ? 1 : 0;
    return true;
  }
  return json.get_int64().get(value) == simdjson::SUCCESS;
}

bool read_value(const dom::element& json, AxisRange& range) {
  const auto number = [&](const char* key, std::int64_t& value) {
    return json.at_key(key).get_int64().get(value) == simdjson::SUCCESS;
  };
  return number("lower", range.lower) && number("higher", range.higher);
}

template <class T>
bool read_value(const dom::element& json, std::vector<T>& list) {
  dom::array items;
  if (json.get_array().get(items) != simdjson::SUCCESS) return false;
  for (const dom::element item : items) {
    if (!read_value(item, list.emplace_back())) return false;
  }
  return true;
}

template <class T>
bool read_optional(const dom::object& json, const char* key, T& value) {
  dom::element found;
  if (json.at_key(key).get(found) != simdjson::SUCCESS || found.is_null()) return true;
  return read_value(found, value);
}

std::optional<std::size_t> cut_axis(const std::vector<std::vector<std::int64_t>>& cuts,
                                    std::size_t tensor) {
  if (tensor >= cuts.size()) return std::nullopt;
  const auto cut =
      std::ranges::find_if(cuts[tensor], [](std::int64_t parts) { return parts != 1; });
  if (cut == cuts[tensor].end()) return std::nullopt;
  return static_cast<std::size_t>(cut - cuts[tensor].begin());
}

using Ranges = std::vector<std::vector<std::vector<AxisRange>>>;

// The ranges of one tensor, one for each of `numbers`; empty if some are not said.
std::vector<std::vector<AxisRange>> ranges_of(const Ranges& all,
                                              std::span<const std::uint32_t> numbers,
                                              std::size_t tensor) {
  std::vector<std::vector<AxisRange>> ranges;
  for (const std::uint32_t number : numbers) {
    if (number >= all.size() || tensor >= all[number].size()) return {};
    ranges.push_back(all[number][tensor]);
    if (ranges.back().size() != ranges.front().size()) return {};
  }
  return ranges;
}

// Where the file says what each slice has of an axis, by that; else in the order they are.
std::vector<std::size_t> order_along(const std::vector<std::vector<AxisRange>>& ranges,
                                     std::size_t slices, std::size_t axis) {
  std::vector<std::size_t> order(slices);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (ranges.empty() || axis >= ranges.front().size()) return order;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return ranges[i][axis].lower; });
  return order;
}

// What slices read may overlap, as the rows of a convolution do: only what follows each other
// without gap or overlap is put together.
JoinedTensor join_by_ranges(const std::vector<std::vector<AxisRange>>& ranges) {
  std::vector<std::size_t> differing;
  for (std::size_t axis = 0; axis < ranges.front().size(); ++axis) {
    const bool same = std::ranges::all_of(
        ranges, [&](const auto& range) { return range[axis] == ranges.front()[axis]; });
    if (!same) differing.push_back(axis);
  }
  if (differing.empty()) return {{0}, 0, {}};
  if (differing.size() > 1) return {{}, 0, "the slices read it in parts of several axes"};
  const std::size_t axis = differing.front();
  JoinedTensor joined{order_along(ranges, ranges.size(), axis), axis, {}};
  const auto gap_behind = [&](std::size_t a, std::size_t b) {
    return ranges[b][axis].lower - ranges[a][axis].higher;
  };
  // The upper end counts in some versions and does not in others.
  const std::int64_t step = gap_behind(joined.slices[0], joined.slices[1]);
  for (std::size_t i = 0; i + 1 < joined.slices.size(); ++i) {
    const std::int64_t gap = gap_behind(joined.slices[i], joined.slices[i + 1]);
    if (gap != step || step < 0 || step > 1) {
      return {{}, 0, "the parts of it that the slices read overlap or leave gaps"};
    }
  }
  return joined;
}

JoinedTensor join_input(const SliceInfo& info, std::span<const std::uint32_t> numbers,
                        std::size_t tensor) {
  const auto ranges = ranges_of(info.input_ranges, numbers, tensor);
  if (!ranges.empty()) return join_by_ranges(ranges);
  if (tensor >= info.input_cuts.size()) {
    return {{}, 0, "which part of it each slice read is not recorded"};
  }
  const auto axis = cut_axis(info.input_cuts, tensor);
  if (!axis) return {{0}, 0, {}};
  return {order_along({}, numbers.size(), *axis), *axis, {}};
}

JoinedTensor join_output(const SliceInfo& info, std::span<const std::uint32_t> numbers,
                         std::size_t tensor) {
  const auto axis = cut_axis(info.output_cuts, tensor);
  if (!axis) return {{0}, 0, {}};
  const auto ranges = ranges_of(info.output_ranges, numbers, tensor);
  return {order_along(ranges, numbers.size(), *axis), *axis, {}};
}

}  // namespace

Result<SliceInfo> read_slice_info(const DumpFile& file) {
  if (file.attributes.empty()) {
    return fail(ErrorKind::kFormat, "the header does not say how the operator was cut");
  }
  dom::parser parser;
  dom::object json;
  const simdjson::padded_string text(file.attributes.front().second);
  if (const auto error = parser.parse(text).get_object().get(json); error != simdjson::SUCCESS) {
    return fail(ErrorKind::kFormat,
                fmt::format("the slice information of the operator is not a JSON object: {}",
                            simdjson::error_message(error)));
  }
  SliceInfo info;
  std::int64_t automatic = 0;
  std::int64_t instances = 0;
  const bool fine = read_optional(json, "threadMode", automatic) &&
                    read_optional(json, "slice_instance_num", instances) &&
                    read_optional(json, "inputCutList", info.input_cuts) &&
                    read_optional(json, "outputCutList", info.output_cuts) &&
                    read_optional(json, "input_tensor_slice", info.input_ranges) &&
                    read_optional(json, "output_tensor_slice", info.output_ranges);
  if (!fine || instances < 0) {
    return fail(ErrorKind::kFormat, "how the operator was cut is not in the known form");
  }
  info.automatic = automatic != 0;
  info.instances = static_cast<std::uint64_t>(instances);
  return info;
}

bool is_cut(const SliceInfo& info) {
  for (std::size_t i = 0; i < info.output_cuts.size(); ++i) {
    if (cut_axis(info.output_cuts, i)) return true;
  }
  return false;
}

JoinPlan plan_join(const SliceInfo& info, std::span<const std::uint32_t> numbers,
                   std::size_t inputs, std::size_t outputs) {
  JoinPlan plan;
  if (numbers.size() < 2 || !is_cut(info)) {
    const JoinedTensor newest{{numbers.size() - 1}, 0, {}};
    plan.inputs.assign(inputs, newest);
    plan.outputs.assign(outputs, newest);
    return plan;
  }
  for (std::size_t i = 0; i < inputs; ++i) plan.inputs.push_back(join_input(info, numbers, i));
  for (std::size_t i = 0; i < outputs; ++i) plan.outputs.push_back(join_output(info, numbers, i));
  return plan;
}

std::optional<SliceName> parse_slice_name(std::string_view op_name) {
  constexpr std::string_view kMark = "_lxslice";
  const std::size_t at = op_name.rfind(kMark);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::string_view digits = op_name.substr(at + kMark.size());
  SliceName name{op_name.substr(0, at), 0};
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), name.number);
  if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return name;
}

}  // namespace msprobe::ge
