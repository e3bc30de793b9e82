// SPDX-License-Identifier: Apache-2.0
// Names, members of fused operators, verdicts and the arrays we write. Whole dumps are compared in
// tests/torchair_check.py.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/npy.h"
#include "scratch_directory_for_test.h"
#include "torchair/convert_info.h"
#include "torchair/criteria.h"
#include "torchair/fx_files.h"
#include "torchair/info_file.h"
#include "torchair/members.h"
#include "torchair/stack_info.h"
#include "torchair/tensor_columns.h"

namespace msprobe::torchair {
namespace {

using testing::ElementsAre;

TEST(FxDumps, ADumpBeginsWhereTheFirstNodeComesAgain) {
  const auto numbers = [](std::string_view nodes) {
    std::vector<std::string_view> keys;
    for (std::size_t i = 0; i < nodes.size(); ++i) keys.push_back(nodes.substr(i, 1));
    std::string out;
    for (const std::size_t number : dump_numbers(keys)) out += std::to_string(number);
    return out;
  };
  EXPECT_EQ(numbers(""), "");
  EXPECT_EQ(numbers("abc"), "000");
  EXPECT_EQ(numbers("abcabc"), "000111");
  EXPECT_EQ(numbers("ababc"), "00111") << "the first was stopped early";
  EXPECT_EQ(numbers("abcab"), "00011") << "the second was stopped early";
  EXPECT_EQ(numbers("abcadc"), "000111") << "another model";
  EXPECT_EQ(numbers("abbcabbc"), "00001111") << "b runs twice in each";
  EXPECT_EQ(numbers("abcdeef"), "0000000") << "e runs twice";
  EXPECT_EQ(numbers("abcxbc"), "000011") << "begins with another node";
  EXPECT_EQ(numbers("aaa"), "012");
}

TEST(FxName, IsReadFromTheRight) {
  const auto name = parse_fx_name("a.INPUT.3-aten.add.Tensor.INPUT.0.12.20250818231440934287.npy");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->key, "a.INPUT.3-aten.add.Tensor");
  EXPECT_FALSE(name->is_output);
  EXPECT_EQ(name->array.index, 0);
  EXPECT_EQ(name->array.item, 12);
  EXPECT_FALSE(name->array.is_info);
  const auto info = parse_fx_name("add-aten.add.Tensor.OUTPUT.1.2025_min_max.npy");
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->is_output && info->array.is_info);
  EXPECT_EQ(info->array.item, -1);
  for (const auto* other : {"x.npy", "add.OUTPUT.npy", "add.OUTPUT.0.npy", "a.OUTPUT.0.1.2.3.npy",
                            "a.OUTPUT.0.x.npy", "a.OUTPUT.0.17.bin"}) {
    EXPECT_FALSE(parse_fx_name(other)) << other;
  }
}

// Data -> MatMul_1 -> Add -> Relu -> NetOutput, and MatMul_12 beside it.
GraphIndex small_graph() {
  ge::Graph graph;
  graph.ops = {
      {"x", "Data", {}, {""}},
      {"MatMul_1", "MatMul", {{"x", 0, ""}, {"x", 0, ""}}, {"mm-aten.mm.default.OUTPUT.0"}},
      {"Add", "Add", {{"MatMul_1", 0, ""}, {"x", 0, ""}}, {"add-aten.add.Tensor.OUTPUT.0"}},
      {"Relu", "Relu", {{"Add", 0, ""}}, {"relu-aten.relu.default.OUTPUT.0"}},
      {"AddRelu_1", "Other", {}, {""}},
      {"NetOutput", "NetOutput", {{"Relu", 0, ""}}, {}}};
  return GraphIndex(std::move(graph));
}

GeFile dumped(std::string type, std::string name) {
  GeFile file;
  file.op_type = std::move(type);
  file.op_name = std::move(name);
  return file;
}

TEST(Members, AJoinedNameIsSplitCompletely) {
  const GraphIndex graph = small_graph();
  const Members members = find_members(dumped("Add", "AddRelu"), graph);
  EXPECT_THAT(members.ops, ElementsAre(2, 3));
  ASSERT_EQ(members.inputs.size(), 2U);
  EXPECT_EQ(members.inputs[1].position, 1U);
  ASSERT_EQ(members.outputs.size(), 1U);
  EXPECT_EQ(members.outputs[0].member, 3U);
  EXPECT_FALSE(members.is_named);
}

TEST(Members, ANameThatOnlyStartsLikeAnotherIsNotIt) {
  const GraphIndex graph = small_graph();
  for (const auto* name : {"MatMul_12", "MatMul_1_transdata_3", "Add_7", "trans_TransData_3"}) {
    EXPECT_TRUE(find_members(dumped("TransData", name), graph).ops.empty()) << name;
  }
  EXPECT_TRUE(find_members(dumped("AddRelu_1", "AddRelu_1"), graph).is_named);
  EXPECT_TRUE(find_members(dumped("Add", "Add_7"), graph).ops.empty());
}

TEST(Members, ARenamedOperatorIsFoundByKindOrOrigin) {
  const GraphIndex graph = small_graph();
  EXPECT_THAT(find_members(dumped("MatMulV3", "MatMul_1_to_v3"), graph).ops, ElementsAre(1));
  GeFile other = dumped("FusedThing", "something");
  other.outputs.resize(1);
  other.outputs[0].original_op = ge::OriginalOp{"Relu", 0};
  EXPECT_THAT(find_members(other, graph).ops, ElementsAre(3));
  GeFile inserted = dumped("TransData", "trans_TransData_9");
  inserted.outputs = other.outputs;
  EXPECT_TRUE(find_members(inserted, graph).ops.empty());
}

TEST(Members, ALongFusionIsWhatLiesBetween) {
  GeFile file = dumped("Add", "MatMul_1_ub_fusion");
  file.inputs.resize(3);
  file.outputs.resize(1);
  file.outputs[0].original_op = ge::OriginalOp{"Relu", 0};
  EXPECT_THAT(find_members(file, small_graph()).ops, ElementsAre(1, 2, 3));
}

TensorRow real_row(double cosine, double max_relative, double max_abs = 0,
                   std::uint64_t mismatches = 0) {
  TensorRow row;
  row.outcome = Outcome::kUndecided;
  row.real.emplace();
  row.real->similarity.cosine = cosine;
  row.real->similarity.max_relative_error = max_relative;
  row.real->similarity.max_abs_error = max_abs;
  row.real->tally.mismatches = mismatches;
  judge(row, GraphMode::kReal, {});
  return row;
}

TEST(Verdict, RealDataAsDocumented) {
  EXPECT_EQ(real_row(0.99, 0.0099).outcome, Outcome::kPass);
  EXPECT_EQ(real_row(0.98, 0).outcome, Outcome::kError);
  EXPECT_EQ(real_row(1, 0.01).outcome, Outcome::kError);
  EXPECT_EQ(real_row(NAN, 0).outcome, Outcome::kError);
  EXPECT_EQ(real_row(1, 0, 0, 1).outcome, Outcome::kError);
  EXPECT_FALSE(real_row(1, 0, 1.5).reached);
  // "Accuracy Reached or Not" is No wherever Result is FAIL; PASS with No stays.
  EXPECT_EQ(real_row(1, 0, 1.5).outcome, Outcome::kPass);
  EXPECT_FALSE(real_row(1, 0.01).reached);
  EXPECT_FALSE(real_row(0.98, 0).reached);
  EXPECT_TRUE(real_row(1, 0).reached);
  EXPECT_EQ(mark_of(real_row(1, 0, 1.5)), RowMark::kSuspicious);
  EXPECT_EQ(mark_of(real_row(1, 0)), RowMark::kNormal);
}

TensorRow statistics_row(double device, double bench) {
  TensorRow row;
  row.outcome = Outcome::kUndecided;
  row.statistics.emplace();
  (*row.statistics)[0] = {device, bench};
  judge(row, GraphMode::kStatistics, {});
  return row;
}

TEST(Verdict, StatisticsByRelativeDifferenceAndClass) {
  EXPECT_EQ(statistics_row(1.4, 1).outcome, Outcome::kPass);
  EXPECT_TRUE(statistics_row(1.4, 1).differs);
  EXPECT_FALSE(statistics_row(1.009, 1).differs);
  EXPECT_EQ(statistics_row(1.6, 1).outcome, Outcome::kError);
  EXPECT_EQ(statistics_row(NAN, 1).outcome, Outcome::kError);
  EXPECT_EQ(statistics_row(NAN, NAN).outcome, Outcome::kPass);
  EXPECT_EQ(statistics_row(INFINITY, INFINITY).outcome, Outcome::kPass);
  EXPECT_EQ(statistics_row(INFINITY, -INFINITY).outcome, Outcome::kError);
  EXPECT_EQ(statistics_row(1, 0).outcome, Outcome::kError);
  TensorRow other_nans = statistics_row(1, 1);
  other_nans.nan_counts = {1, 0};
  judge(other_nans, GraphMode::kStatistics, {});
  EXPECT_EQ(other_nans.outcome, Outcome::kError);
  EXPECT_FALSE(other_nans.differs);
  TensorRow shared = statistics_row(NAN, 1);
  shared.differs = false;
  (*shared.statistics)[0].shared_nan = true;
  judge(shared, GraphMode::kStatistics, {});
  EXPECT_EQ(shared.outcome, Outcome::kPass);
  EXPECT_FALSE(shared.differs);
  TensorRow nothing;
  nothing.outcome = Outcome::kUndecided;
  nothing.statistics.emplace();
  judge(nothing, GraphMode::kStatistics, {});
  EXPECT_EQ(nothing.outcome, Outcome::kUndecided);
}

FileBytes file_of(const std::string& text) {
  auto owner = std::make_shared<std::string>(text);
  const auto bytes = std::as_bytes(std::span(*owner));
  return {std::move(owner), bytes};
}

TEST(InfoWriter, WhatIsWrittenIsRead) {
  const std::int64_t shape[] = {1, 2};
  std::string array = npy_header(DType::kFloat32, shape);
  EXPECT_EQ(array.size() % 64, 0U);
  for (const float value : {-1.5F, 2.0F}) {
    array.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  const std::int64_t none = 0;
  const std::string empty = npy_header(DType::kFloat64, std::span(&none, 1));
  const auto info =
      read_info_file(file_of(make_npz({{"inputs", empty}, {"outputs", array}})), "x.npz");
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_TRUE(info->inputs.empty());
  ASSERT_EQ(info->outputs.size(), 1U);
  EXPECT_THAT(info->outputs[0], ElementsAre(-1.5, 2.0));
}

TEST(InfoFile, NothingIsLeftOfComplexValues) {
  const std::int64_t shape[] = {2, 2};
  std::string array = npy_header(DType::kComplex64, shape);
  for (const float part : {1.0F, 0.5F, 2.0F, 0.0F, -1.5F, 0.0F, 2.0F, 0.0F}) {
    array.append(reinterpret_cast<const char*>(&part), sizeof(part));
  }
  const auto info =
      read_info_file(file_of(make_npz({{"inputs", array}, {"outputs", array}})), "x.npz");
  ASSERT_TRUE(info) << info.error().message;
  ASSERT_EQ(info->inputs.size(), 2U);
  EXPECT_TRUE(info->inputs[0].empty());
  EXPECT_THAT(info->inputs[1], ElementsAre(-1.5, 2.0));
}

// Equal NaNs would pass for equal tensors.
TEST(Converter, ATensorWithoutOrderHasNoRange) {
  namespace fs = std::filesystem;
  const ScratchDirectory scratch;
  const fs::path& root = scratch.path();
  const std::int64_t one = 1;
  const std::int64_t none = 0;
  const std::string complex_array =
      npy_header(DType::kComplex64, std::span(&one, 1)) + std::string(8, 'x');
  std::ofstream(root / "a-x.OUTPUT.0.17.npy", std::ios::binary) << complex_array;
  std::ofstream(root / "a-x.OUTPUT.1.17.npy", std::ios::binary)
      << npy_header(DType::kFloat32, std::span(&none, 1));
  EXPECT_EQ(Converter(root, {}, {}).convert_all().converted, 2U);
  for (const auto* name : {"a-x.OUTPUT.0.17_min_max.npy", "a-x.OUTPUT.1.17_min_max.npy"}) {
    const auto file = load_file(root / name);
    ASSERT_TRUE(file) << name;
    const auto values = read_info_array(*file, name);
    ASSERT_TRUE(values) << values.error().message;
    EXPECT_TRUE(is_empty_range(*values)) << name;
    EXPECT_FALSE(has_original(root / name));
  }
}

// A CRC may look like a number: 234161e3.
TEST(Columns, ChecksumsAreText) {
  for (const TensorColumn& column : columns_of(GraphMode::kMd5)) {
    EXPECT_EQ(column.is_text && column.title.ends_with("MD5"), column.title.ends_with("MD5"));
  }
}

TEST(StackInfo, StandsAboveItsNode) {
  const StackInfo stacks = parse_stack_info(
      "# File \"a.py\", line 3\n  # File \"b.py\", line 4\nx = op(node_name=\"add\")\n"
      "# File \"c.py\", line 5\ny = op(node_name=\"mul\")\n");
  EXPECT_EQ(stacks.at("add"), "File \"a.py\", line 3; File \"b.py\", line 4");
  EXPECT_EQ(stacks.at("mul"), "File \"c.py\", line 5");
}

}  // namespace
}  // namespace msprobe::torchair
