// SPDX-License-Identifier: Apache-2.0
#include "dump/dump_json.h"

#include <cmath>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/files_for_test.h"

namespace msprobe::dump {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<DumpIndex> dump_of(std::string text) { return index_dump(file_of(std::move(text)), "d"); }

std::string fault_of(std::string text) {
  const auto index = dump_of(std::move(text));
  if (index) return "no fault";
  EXPECT_EQ(index.error().kind, ErrorKind::kFormat);
  return index.error().message;
}

std::string with_data(const std::string& data) { return R"({"data": {)" + data + "}}"; }

TEST(OpenDump, ReadsTheTopLevel) {
  const auto index = dump_of(R"({"task": "tensor", "level": "L1", "framework": "pytorch",
      "dump_data_dir": "./d\u0061ta", "other": [1, {"x": "}"}], "data": {}})");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->task, "tensor");
  EXPECT_EQ(index->level, "L1");
  EXPECT_EQ(index->framework, "pytorch");
  EXPECT_EQ(index->dump_data_dir, "./data");
  EXPECT_TRUE(index->calls.empty());
}

TEST(OpenDump, LeavesOutWhatIsNotThere) {
  const auto index = dump_of(R"( {"data":{} , "dump_data_dir":null}
)");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->framework, std::nullopt);
  EXPECT_EQ(index->dump_data_dir, "");
}

TEST(OpenDump, PairsBackwardWithForwardWhereverItStands) {
  const auto index = dump_of(with_data(R"(
      "Torch.a.0.backward": {"input": []},
      "Torch.a.0.forward": {"input_args": []},
      "Torch.b.0.forward": {},
      "Torch.a.1.forward": {},
      "Torch.b.0.backward": {"output": []},
      "Torch.z.0.backward": {})"));
  ASSERT_TRUE(index) << index.error().message;
  ASSERT_EQ(index->calls.size(), 3U);
  EXPECT_EQ(index->calls[0].full_name, "Torch.a.0");
  EXPECT_EQ(index->calls[0].forward_json, R"({"input_args": []})");
  EXPECT_EQ(index->calls[0].backward_json, R"({"input": []})");
  EXPECT_EQ(index->calls[1].backward_json, R"({"output": []})");
  EXPECT_EQ(index->calls[2].full_name, "Torch.a.1");
  EXPECT_EQ(index->calls[2].backward_json, "");
  EXPECT_EQ(index->unmatched_backward, 1U);
  EXPECT_EQ(index->file.text().substr(index->calls[0].forward_at, 5), R"({"inp)");
}

TEST(OpenDump, ClassifiesByTheLastSegmentOnly) {
  const auto index = dump_of(with_data(R"(
      "Functional.multi_head_attention_forward.0.forward": {},
      "Torch.MyModule.0.forward": {}, "Torch.backward_hook.0.forward": {},
      "Torch.backward_hook.0.backward": {},
      "Module.conv.Conv2d.forward.0": {}, "Cell.net.Net.forward.0": {},
      "Module.conv.Conv2d.parameters_grad.0": {},
      "Torch.add.0": {}, "forward": {}, ".forward": {}, "Torch.add.0.forward.0": 3)"));
  ASSERT_TRUE(index) << index.error().message;
  ASSERT_EQ(index->calls.size(), 3U);
  EXPECT_EQ(index->calls[0].full_name, "Functional.multi_head_attention_forward.0");
  EXPECT_EQ(index->calls[1].full_name, "Torch.MyModule.0");
  EXPECT_EQ(index->calls[2].backward_json, "{}");
  EXPECT_EQ(index->module_entries, 3U);
  EXPECT_THAT(index->odd_keys,
              ElementsAre("Torch.add.0", "forward", ".forward", "Torch.add.0.forward.0"));
}

TEST(OpenDump, ReportsKeysThatStandThereTwice) {
  const auto index = dump_of(with_data(R"("T.a.0.forward": {"old": 1}, "T.b.0.forward": {},
      "T.a.0.forward": {"new": 1}, "T.b.0.backward": 1, "T.b.0.backward": 2)"));
  ASSERT_TRUE(index) << index.error().message;
  ASSERT_EQ(index->calls.size(), 2U);
  EXPECT_EQ(index->calls[0].forward_json, R"({"new": 1})");
  EXPECT_EQ(index->calls[1].backward_json, "2");
  EXPECT_THAT(index->repeated_keys, ElementsAre("T.a.0.forward", "T.b.0.backward"));
}

TEST(OpenDump, ReplacesEscapesInKeysAndKeepsTheNamesAlive) {
  auto index = dump_of(with_data(R"("T\u006frch.\ud83d\ude00\uff0b.0.forward": {})"));
  ASSERT_TRUE(index) << index.error().message;
  const DumpIndex copy = *index;
  index = fail(ErrorKind::kIo, "gone");
  ASSERT_EQ(copy.calls.size(), 1U);
  EXPECT_EQ(copy.calls[0].full_name, "Torch.😀＋.0");
}

TEST(OpenDump, KeysNoNameCanHaveAreOdd) {
  const auto index = dump_of(with_data("\"T.a\\n.0.forward\": {}, \"T.\xff.0.forward\": {}"));
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_TRUE(index->calls.empty());
  EXPECT_THAT(index->odd_keys, ElementsAre("T.a\\x0a.0.forward", "T.\\xff.0.forward"));
}

TEST(OpenDump, ListsOnlyTheFirstOddKeys) {
  std::string data;
  for (int i = 0; i < 500; ++i) data += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  const auto index = dump_of(with_data(data));
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->odd_keys.size(), 100U);
  EXPECT_EQ(index->odd_key_count, 500U);
}

TEST(OpenDump, FaultInsideAnEntryIsNotOneOfTheFile) {
  const auto index = dump_of(with_data(
      R"("T.a.0.forward": {"input_args": [01, "x": tru]}, "T.b.0.forward": {"input_args": []},
         "T.c.0.forward": nonsense)"));
  ASSERT_TRUE(index) << index.error().message;
  ASSERT_EQ(index->calls.size(), 3U);
  EXPECT_FALSE(parse_call(index->calls[0], "d"));
  EXPECT_TRUE(parse_call(index->calls[1], "d"));
  EXPECT_FALSE(parse_call(index->calls[2], "d"));
}

TEST(OpenDump, FaultsOfTheFileNameTheByte) {
  EXPECT_THAT(fault_of(""), HasSubstr("Failed to parse JSON from d: byte 0: found the end"));
  EXPECT_THAT(fault_of("[]"), HasSubstr("byte 0: found '[', expected '{': the file must be an"));
  EXPECT_THAT(fault_of("\xef\xbb\xbf{}"), HasSubstr("byte order mark"));
  EXPECT_THAT(fault_of("{}"), HasSubstr("no data found in dump.json"));
  EXPECT_THAT(fault_of(R"({"data": []})"), HasSubstr("byte 9: found '[', expected '{': \"data\""));
  EXPECT_THAT(fault_of(R"({"data": {}} x)"), HasSubstr("byte 13: found 'x', expected the end"));
  EXPECT_THAT(fault_of(R"({"data": {}}})"), HasSubstr("byte 12: found '}'"));
  EXPECT_THAT(fault_of(R"({"data": {}, "data": {}})"), HasSubstr("byte 13: found '\"', expected"));
  EXPECT_THAT(fault_of(R"({"data": {"a" 1}})"),
              HasSubstr("byte 14: found '1', expected ':' after"));
  EXPECT_THAT(fault_of(R"({"data": {"a": }})"),
              HasSubstr("byte 15: found '}', expected the value"));
  EXPECT_THAT(fault_of(R"({"data": {"a": 1 2}})"), HasSubstr("byte 17: found '2', expected ','"));
  EXPECT_THAT(fault_of(R"({"data": {"a": 1,}})"), HasSubstr("byte 17: found '}', expected a key"));
  EXPECT_THAT(fault_of(R"({"data": {'a': 1}})"), HasSubstr("expected a key in quotes"));
  EXPECT_THAT(fault_of(R"({"data": {"a\x": 1}})"), HasSubstr("bad escapes"));
  EXPECT_THAT(fault_of(R"({"task": 3, "data": {}})"),
              HasSubstr("byte 9: found '3', expected a str"));
}

TEST(OpenDump, FindsTruncationAtEveryByte) {
  const std::string whole =
      R"({"task": "t", "data": {"T.a.0.forward": {"k": [1, "\\\"]"]}, "T.b.0.forward": null}})";
  ASSERT_TRUE(dump_of(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(fault_of(whole.substr(0, size)), HasSubstr("end of the file")) << size;
  }
}

TEST(OpenDump, FindsBracketsThatDoNotMatch) {
  EXPECT_THAT(fault_of(with_data(R"("T.a.0.forward": {"k": [1}, "T.b.0.forward": {})")),
              HasSubstr("byte 35: found '}', expected the bracket that closes the one at byte 33"));
  EXPECT_NE(fault_of(with_data(R"("T.a.0.forward": {"k": 1}}, "T.b.0.forward": {})")), "no fault");
  EXPECT_NE(fault_of(with_data(R"("T.a.0.forward": {"k": [1, "T.b.0.forward": {})")), "no fault");
  // The number of brackets is right: a fault of the entry.
  const auto index = dump_of(with_data(R"("T.a.0.forward": {"k": 1], "T.b.0.forward": {})"));
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_FALSE(parse_call(index->calls[0], "d"));
}

TEST(OpenDump, MissingFilesAndDirectoriesAreErrors) {
  EXPECT_EQ(open_dump("/nonexistent/dump.json").error().kind, ErrorKind::kIo);
  EXPECT_EQ(open_dump(fs::temp_directory_path()).error().kind, ErrorKind::kIo);
}

struct Golden {
  const char* folder;
  std::size_t forward, backward;
};

class GoldenDump : public ::testing::TestWithParam<Golden> {};

TEST_P(GoldenDump, EveryCallParses) {
  const fs::path path =
      fs::path(MSPROBE_SOURCE_DIR) / "tests/data/dumps" / GetParam().folder / "dump.json";
  const auto index = open_dump(path);
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->calls.size(), GetParam().forward);
  EXPECT_TRUE(index->odd_keys.empty());
  EXPECT_TRUE(index->repeated_keys.empty());
  EXPECT_EQ(index->unmatched_backward, 0U);
  CallParser parser;
  std::size_t backward = 0;
  for (const CallSlice& slice : index->calls) {
    const auto call = parser.parse(slice, "dump.json");
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->full_name, slice.full_name);
    EXPECT_FALSE(call->forward.input_args.empty() && call->forward.input_kwargs.empty());
    if (call->backward) ++backward;
  }
  EXPECT_EQ(backward, GetParam().backward);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenDump,
                         ::testing::Values(Golden{"gpt_fp32_statistics", 322, 59},
                                           Golden{"convnet_statistics", 492, 54},
                                           Golden{"convnet_tensor", 31, 6},
                                           Golden{"gpt2_fp32_statistics_v8.3.3", 323, 59},
                                           Golden{"gpt2_fp32_tensor", 22, 0},
                                           Golden{"mindspore_mlp_tensor", 23, 21}));

}  // namespace
}  // namespace msprobe::dump
