// SPDX-License-Identifier: Apache-2.0
// Operators that ran in slices: what the header says of the cut, and tensors put together again.
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ge/element_type.h"
#include "ge/joined.h"
#include "ge/slice_info.h"

namespace msprobe::ge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DumpFile with_attribute(std::string json) {
  DumpFile file;
  file.attributes.emplace_back("", std::move(json));
  return file;
}

TEST(SliceInfo, IsReadFromTheFirstAttribute) {
  const auto info = read_slice_info(with_attribute(
      R"({"threadMode": true, "slice_instance_num": 2, "outputCutList": [[1, 2], [1]], "other": {},
          "input_tensor_slice": [[[{"lower": 0, "higher": 4}]], [[{"lower": 4, "higher": 8}]]]})"));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_TRUE(info->automatic);
  EXPECT_EQ(info->instances, 2U);
  EXPECT_THAT(info->output_cuts, ElementsAre(ElementsAre(1, 2), ElementsAre(1)));
  EXPECT_EQ(info->input_ranges[1][0][0].lower, 4);
}

TEST(SliceInfo, OtherFormsAreRefused) {
  EXPECT_FALSE(read_slice_info(DumpFile{}));
  for (const auto* json :
       {"", "[]", "{", "{\"threadMode\": [1]}", "{\"outputCutList\": [1]}",
        "{\"slice_instance_num\": -1}", "{\"output_tensor_slice\": [[[{\"lower\": 1}]]]}"}) {
    EXPECT_FALSE(read_slice_info(with_attribute(json))) << json;
  }
}

constexpr std::uint32_t kNumbers[] = {0, 1, 2};

SliceInfo cut_output() {
  SliceInfo info;
  info.output_cuts = {{1, 3}, {1, 1}};
  return info;
}

TEST(JoinPlan, CutOutputsAreJoinedAndOthersComeFromTheFirst) {
  const JoinPlan plan = plan_join(cut_output(), kNumbers, 1, 2);
  EXPECT_THAT(plan.outputs[0].slices, ElementsAre(0, 1, 2));
  EXPECT_EQ(plan.outputs[0].axis, 1U);
  EXPECT_THAT(plan.outputs[1].slices, ElementsAre(0));
  EXPECT_THAT(plan.inputs[0].unknown, HasSubstr("not recorded"));
}

TEST(JoinPlan, WithoutACutTheNewestCounts) {
  const JoinPlan plan = plan_join({}, kNumbers, 1, 1);
  EXPECT_THAT(plan.inputs[0].slices, ElementsAre(2));
  EXPECT_THAT(plan.outputs[0].slices, ElementsAre(2));
}

TEST(JoinPlan, RangesDecideTheOrderAndWhatSlicesReadOfAnInput) {
  SliceInfo info = cut_output();
  const auto one_axis = [](std::int64_t lower, std::int64_t higher) {
    return std::vector<std::vector<AxisRange>>{{{lower, higher}}};
  };
  info.output_ranges = {{{{0, 1}, {8, 12}}}, {{{0, 1}, {0, 4}}}, {{{0, 1}, {4, 8}}}};
  info.input_ranges = {one_axis(0, 4), one_axis(4, 8), one_axis(8, 10)};
  const JoinPlan plan = plan_join(info, kNumbers, 1, 1);
  EXPECT_THAT(plan.outputs[0].slices, ElementsAre(1, 2, 0));
  EXPECT_THAT(plan.inputs[0].slices, ElementsAre(0, 1, 2));
  info.input_ranges = {one_axis(0, 3), one_axis(4, 7), one_axis(8, 9)};  // the end counts
  EXPECT_THAT(plan_join(info, kNumbers, 1, 1).inputs[0].slices, ElementsAre(0, 1, 2));
  info.input_ranges = {one_axis(0, 9), one_axis(0, 9), one_axis(0, 9)};  // all of it
  EXPECT_THAT(plan_join(info, kNumbers, 1, 1).inputs[0].slices, ElementsAre(0));
  info.input_ranges = {one_axis(0, 5), one_axis(4, 8), one_axis(8, 10)};
  EXPECT_THAT(plan_join(info, kNumbers, 1, 1).inputs[0].unknown, HasSubstr("overlap"));
}

TEST(SliceName, EndsInTheNumber) {
  EXPECT_EQ(parse_slice_name("Conv2D_lxslice12")->op, "Conv2D");
  EXPECT_EQ(parse_slice_name("Conv2D_lxslice12")->number, 12U);
  for (const auto* other : {"Conv2D", "_lxslice1", "a_lxslice", "a_lxslice1b"}) {
    EXPECT_FALSE(parse_slice_name(other)) << other;
  }
}

// Slices of a tensor of 32-bit integers, held for as long as the test needs them.
struct Slices {
  std::vector<std::vector<std::int32_t>> data;
  std::vector<DumpTensor> tensors;

  void add(Shape shape, std::vector<std::int32_t> values) {
    data.push_back(std::move(values));
    DumpTensor& tensor = tensors.emplace_back();
    tensor.type = 7;
    tensor.has_shape = true;
    tensor.shape = shape;
    tensor.original_shape = shape;
  }
  Result<Elements> join(std::size_t axis) {
    std::vector<TensorSlice> slices;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].bytes = std::as_bytes(std::span(data[i]));
      slices.push_back({&tensors[i], {}});
    }
    return join_slices(slices, axis);
  }
};

std::vector<std::int32_t> read(const Elements& elements, std::uint64_t step) {
  std::vector<std::int32_t> out(elements.count);
  for (std::uint64_t i = 0; i < elements.count; i += step) {
    const std::uint64_t n = std::min(step, elements.count - i);
    read_elements(elements, i, n, reinterpret_cast<std::byte*>(out.data() + i));
  }
  return out;
}

TEST(JoinSlices, AlongEveryAxisInPartsOfAnySize) {
  Slices rows;
  rows.add({1, 3}, {0, 1, 2});
  rows.add({0, 3}, {});
  rows.add({2, 3}, {3, 4, 5, 6, 7, 8});
  Slices columns;
  columns.add({3, 2}, {0, 1, 3, 4, 6, 7});
  columns.add({3, 1}, {2, 5, 8});
  std::vector<std::int32_t> wanted(9);
  std::iota(wanted.begin(), wanted.end(), 0);
  for (const auto& whole : {rows.join(0), columns.join(1)}) {
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_THAT(whole->shape, ElementsAre(3, 3));
    EXPECT_THAT(whole->note, IsEmpty());
    for (const std::uint64_t step : {1U, 2U, 5U, 9U}) EXPECT_EQ(read(*whole, step), wanted) << step;
  }
}

TEST(JoinSlices, OfADeviceLayoutAreConvertedAsAWhole) {
  // 4 x 3, stored as NZ in blocks of 2 x 2, cut along the rows of blocks (stored axis 1).
  Slices halves;
  halves.add({2, 1, 2, 2}, {0, 1, 3, 4, 2, -1, 5, -1});
  halves.add({2, 1, 2, 2}, {6, 7, 9, 10, 8, -1, 11, -1});
  for (DumpTensor& tensor : halves.tensors) {
    tensor.format = static_cast<std::uint32_t>(TensorFormat::kFractalNz);
    tensor.original_shape = {2, 3};
  }
  std::vector<std::int32_t> wanted(12);
  std::iota(wanted.begin(), wanted.end(), 0);
  for (const Shape& original : {Shape{2, 3}, Shape{4, 3}}) {  // of the slice, or of the whole
    for (DumpTensor& tensor : halves.tensors) tensor.original_shape = original;
    const auto whole = halves.join(1);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_THAT(whole->shape, ElementsAre(4, 3));
    EXPECT_EQ(read(*whole, 5), wanted);
  }
}

TEST(JoinSlices, EqualExtentsDoNotSwapAxes) {
  Slices columns;
  columns.add({2, 2}, {0, 1, 4, 5});
  columns.add({2, 2}, {2, 3, 6, 7});
  const auto whole = columns.join(1);
  ASSERT_TRUE(whole);
  EXPECT_THAT(whole->shape, ElementsAre(2, 4));
  EXPECT_THAT(read(*whole, 3), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(JoinSlices, WhatDoesNotFitIsRefused) {
  Slices slices;
  slices.add({1, 3}, {0, 1, 2});
  slices.add({1, 2}, {3, 4});
  EXPECT_THAT(slices.join(0).error().message, HasSubstr("[1, 2]"));
  EXPECT_FALSE(slices.join(2));
  EXPECT_TRUE(slices.join(1));
  slices.tensors[1].type = 8;
  EXPECT_FALSE(slices.join(1));
}

}  // namespace
}  // namespace msprobe::ge
