// SPDX-License-Identifier: Apache-2.0
#include "dump/stack_json.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/files_for_test.h"

namespace msprobe::dump {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<StackIndex> stacks_of(std::string text) {
  return index_stacks(file_of(std::move(text)), "stack.json");
}

std::string stack_fault(std::string text) {
  const auto index = stacks_of(std::move(text));
  return index ? "no fault" : index.error().message;
}

TEST(StackJson, ReadsGroups) {
  const auto index = stacks_of(R"({"0": [["T.a.0.forward", "T.b.0.forward"], ["f\n1", "f2"]],
                                  "1": [["T.\u00e9.0.forward"], []]})");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->size(), 3U);
  EXPECT_THAT(*index->frames("T.a.0.forward"), ElementsAre("f\n1", "f2"));
  EXPECT_THAT(*index->frames("T.b.0.forward"), ElementsAre("f\n1", "f2"));
  EXPECT_THAT(*index->frames("T.é.0.forward"), IsEmpty());
  EXPECT_THAT(*index->frames("T.c.0.forward"), IsEmpty());
}

TEST(StackJson, ReadsTheOlderForm) {
  const auto index = stacks_of(R"({"T.b.0.forward": ["x"], "T.a.0.forward": ["y", "z"]})");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_THAT(*index->frames("T.a.0.forward"), ElementsAre("y", "z"));
  EXPECT_THAT(*index->frames("T.b.0.forward"), ElementsAre("x"));
}

TEST(StackJson, BrokenFramesCostOnlyThemselves) {
  const auto index = stacks_of(
      "{\"a\": [1], \"b\": \"x\", \"c\": [\"\\x\"], \"d\": [\"ok\"],"
      " \"e\": [\"\xff\"]}");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_THAT(index->frames("a").error().message,
              HasSubstr("byte 7: found '1', expected a string"));
  EXPECT_FALSE(index->frames("b"));
  EXPECT_FALSE(index->frames("c"));
  EXPECT_THAT(*index->frames("d"), ElementsAre("ok"));
  EXPECT_THAT(*index->frames("e"), ElementsAre("\\xff"));
}

TEST(StackJson, FaultsOfTheFileNameTheByte) {
  EXPECT_EQ(open_stacks("/nonexistent/stack.json").error().kind, ErrorKind::kIo);
  EXPECT_THAT(stack_fault(""), HasSubstr("byte 0: found the end of the file"));
  EXPECT_THAT(stack_fault("[]"), HasSubstr("byte 0: found '['"));
  EXPECT_THAT(stack_fault(R"({"0": [["a"]]})"),
              HasSubstr("byte 12: found ']', expected two lists"));
  EXPECT_THAT(stack_fault(R"({"0": [["a"], [], []]})"), HasSubstr("byte 18: found '['"));
  EXPECT_THAT(stack_fault(R"({"0": [[1], []]})"),
              HasSubstr("byte 8: found '1', expected a string"));
  EXPECT_THAT(stack_fault(R"({"0": [["a"], []})"), HasSubstr("byte 16: found '}'"));
  EXPECT_THAT(stack_fault(R"({"0": []} {})"), HasSubstr("expected the end of the file"));
}

TEST(StackJson, AFileThatWasCutOffKeepsItsWholeEntries) {
  const std::string whole = R"({"0": [["a", "b"], ["x", "y"]], "1": [["c"], ["z"]]})";
  ASSERT_TRUE(stacks_of(whole));
  EXPECT_EQ(stacks_of(whole)->note(), "");
  const std::size_t first_end = whole.find(R"(, "1")");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto index = stacks_of(whole.substr(0, size));
    ASSERT_TRUE(index) << size << ": " << index.error().message;
    EXPECT_THAT(index->note(), HasSubstr("the recording was cut off")) << size;
    EXPECT_EQ(index->size(), size < first_end ? 0U : size + 1 < whole.size() ? 2U : 3U) << size;
  }
  EXPECT_THAT(*stacks_of(whole.substr(0, whole.size() - 1))->frames("c"), ElementsAre("z"));
  EXPECT_THAT(stacks_of(whole.substr(0, whole.size() - 1))->note(),
              HasSubstr("stack.json: the last '}' is missing"));
  EXPECT_THAT(stacks_of(whole.substr(0, whole.size() - 5))->note(),
              HasSubstr("the last entry is cut off"));
  EXPECT_THAT(stacks_of(R"({"Torch*mm*0": ["f1"], "Torch*m)")->note(),
              HasSubstr("ends inside a key"));
  EXPECT_THAT(*stacks_of(R"({"Torch*mm*0": ["f1"], "Torch*mm*1": ["f)")->frames("Torch*mm*0"),
              ElementsAre("f1"));
}

TEST(StackJson, KnowsEveryCallOfARecording) {
  const fs::path path =
      fs::path(MSPROBE_SOURCE_DIR) / "tests/data/dumps/gpt_fp32_statistics/stack.json";
  const auto index = open_stacks(path);
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->size(), 322U);
  EXPECT_THAT(index->frames("Torch.arange.0.forward")->front(), HasSubstr("models.py, line 49"));
}

}  // namespace
}  // namespace msprobe::dump
