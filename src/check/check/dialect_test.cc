// SPDX-License-Identifier: Apache-2.0
#include "check/dialect.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::check {
namespace {

using ::testing::HasSubstr;

dump::DumpIndex dump_of(std::string_view head, std::string_view data = "") {
  auto memory = std::make_shared<std::string>(std::string("{") + std::string(head) +
                                              ", \"data\": {" + std::string(data) + "}}");
  const auto bytes = std::as_bytes(std::span(memory->data(), memory->size()));
  auto index = dump::index_dump(FileBytes{memory, bytes}, "dump.json");
  EXPECT_TRUE(index) << index.error().message;
  return std::move(*index);
}

std::string dialect_named(std::string_view framework) {
  const auto found =
      dialect_of(dump_of("\"framework\": \"" + std::string(framework) + "\""), "dump.json");
  return found ? std::string((*found)->name) : found.error().message;
}

TEST(DialectOf, TheKeyFramework) {
  EXPECT_EQ(dialect_named("pytorch"), "pytorch");
  EXPECT_EQ(dialect_named("pt"), "pytorch");
  EXPECT_EQ(dialect_named("ms"), "mindspore");
  EXPECT_EQ(dialect_named("MindSpore"), "mindspore");
  EXPECT_EQ(dialect_named("MindTorch"), "mindtorch");
  EXPECT_EQ(dialect_named("tensorflow"), "Unsupported framework in api_info: tensorflow");
  EXPECT_EQ(dialect_named(""), "Key \"framework\" not found in dump.json");
}

TEST(MindSporeDialect, LeavesOutAndCountsWhatItDoesNotCheck) {
  const auto group = [](std::string_view name) { return mindspore_dialect().left_out(name); };
  EXPECT_EQ(group("Mint.where.0"), "");
  EXPECT_EQ(group("Mint.linalg.inv.0"), "");
  EXPECT_EQ(group("MintFunctional.relu.0"), "");
  EXPECT_EQ(group("Tensor.add_.0"), "");
  EXPECT_EQ(group("Functional.flash_attention_score.0"), "");
  EXPECT_EQ(group("Functional.relu.0"), "Functional");
  EXPECT_EQ(group("MintDistributed.all_reduce.0"), "MintDistributed");
  EXPECT_EQ(mindtorch_dialect().left_out("Functional.relu.0"), "");
  EXPECT_EQ(mindtorch_dialect().left_out("Torch.add.0"), "");
  EXPECT_EQ(mindtorch_dialect().left_out("NPU.npu_swiglu.0"), "NPU");
}

TEST(MindSporeDialect, ABareNumberIsWhatWasRecordedOrTheBestThereIs) {
  const dump::DumpIndex real =
      dump_of(R"("task": "tensor", "dump_data_dir": "./dump_tensor_data")");
  const dump::DumpIndex statistics = dump_of(R"("task": "statistics")");
  const auto device = mindspore_dialect().engine_device;
  EXPECT_EQ(device("0", real), "recorded");
  EXPECT_EQ(device("3", real), "recorded");
  EXPECT_EQ(device("cpu", real), "cpu");
  EXPECT_EQ(device("1", statistics), "npu:1,mindspore:1,cuda:1,cpu:1");
  EXPECT_EQ(device("sim:0", statistics), "sim:0");
}

TEST(MindSporeDialect, RefusesStaticGraphsAndOtherTasks) {
  const auto refused = [](std::string_view head, std::string_view data, const char* path) {
    const auto looked = mindspore_dialect().look_at(dump_of(head, data), path);
    return looked ? std::string("no error") : looked.error().message;
  };
  constexpr std::string_view kStatistics = R"("task": "statistics")";
  constexpr std::string_view kJit = R"("Jit.net.0.forward": {"input_args": []})";
  EXPECT_THAT(refused(kStatistics, kJit, "dump.json"), HasSubstr("static graph"));
  EXPECT_THAT(refused(kStatistics, "", "/x/graph/step0/dump.json"), HasSubstr("static graph"));
  EXPECT_THAT(refused(R"("task": "overflow_check")", "", "dump.json"),
              HasSubstr("needs statistics or tensor"));
  EXPECT_THAT(refused(R"("task": "tensor", "dump_data_dir": null)", "", "dump.json"),
              HasSubstr("dump_data_dir is not there"));
  EXPECT_EQ(refused(kStatistics, "", "dump.json"), "no error");
}

TEST(MindSporeDialect, CountsCells) {
  const auto looked = mindspore_dialect().look_at(
      dump_of(
          R"("task": "statistics", "level": "mix")",
          R"("Cell.net.Dense.forward.0.forward": {}, "Mint.add.0.forward": {"input_args": []})"),
      "dump.json");
  ASSERT_TRUE(looked);
  ASSERT_EQ(looked->size(), 1);
  EXPECT_THAT(looked->front(), HasSubstr("1 entries of cells"));
}

}  // namespace
}  // namespace msprobe::check
