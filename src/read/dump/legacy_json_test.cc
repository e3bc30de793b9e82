// SPDX-License-Identifier: Apache-2.0
#include "dump/legacy_json.h"

#include <gtest/gtest.h>

#include "dump/files_for_test.h"

namespace msprobe::dump {
namespace {

LegacyFile legacy_file(std::string text, std::string name = "forward_info_0.json") {
  return {file_of(std::move(text)), std::move(name)};
}

DumpIndex legacy_of(std::string forward, std::optional<std::string> backward = {}) {
  std::optional<LegacyFile> second;
  if (backward) second = legacy_file(*backward, "backward_info_0.json");
  auto index = index_legacy(legacy_file(std::move(forward)), std::move(second));
  EXPECT_TRUE(index) << index.error().message;
  return index ? *std::move(index) : DumpIndex{};
}

constexpr const char* kRelu =
    R"({"args": [{"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2, 3], "Max": 1.5,
        "Min": -0.5, "requires_grad": true}], "kwargs": {"inplace": {"type": "bool", "value": false}}})";
constexpr const char* kGradient =
    R"([{"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2, 3], "Max": 1.0, "Min": 0.0,
        "requires_grad": false}])";

std::string entry(const std::string& key, const std::string& value) {
  return "\"" + key + "\": " + value;
}

TEST(LegacyKeys, AllThreeSeparatorsLeadToTheSameName) {
  const auto name = [](std::string_view key) {
    const auto parsed = parse_legacy_key(key);
    return parsed ? parsed->full_name : std::string();
  };
  EXPECT_EQ(name("Functional*conv2d*1"), "Functional.conv2d.1");
  EXPECT_EQ(name("Functional_conv2d_1_forward"), "Functional.conv2d.1");
  EXPECT_EQ(name("Functional.conv2d.1"), "Functional.conv2d.1");
  EXPECT_EQ(name("Functional.conv2d.1.forward"), "Functional.conv2d.1");
  EXPECT_EQ(name("Tensor*__add__*12"), "Tensor.__add__.12");
  EXPECT_EQ(name("Tensor___add___12_forward"), "Tensor.__add__.12");
  EXPECT_EQ(name("Functional_layer_norm_0_forward"), "Functional.layer_norm.0");
  EXPECT_EQ(name("Torch_linalg.inv_0_forward"), "Torch.linalg.inv.0");
  EXPECT_TRUE(parse_legacy_key("Functional_conv2d_1_backward")->backward);
  EXPECT_TRUE(parse_legacy_key("Functional_conv2d_1_forward")->of_overflow);
  EXPECT_FALSE(parse_legacy_key("Functional*conv2d*1")->of_overflow);
}

TEST(LegacyKeys, OthersAreNotCalls) {
  for (const char* key :
       {"", "*", "**", "a*b", "a*b*c", "a*b*c*0", "Functional_conv2d_1", "_forward", "a__forward",
        "task", "Torch.mul", "Torch.mul.x", "Torch_mul_x_forward"}) {
    EXPECT_FALSE(parse_legacy_key(key)) << key;
  }
}

TEST(LegacyFiles, BothFilesMakeOneCall) {
  const DumpIndex index = legacy_of("{" + entry("Functional*relu*0", kRelu) + "}",
                                    "{" + entry("Functional*relu*0", kGradient) + "}");
  ASSERT_EQ(index.calls.size(), 1U);
  EXPECT_EQ(index.calls[0].full_name, "Functional.relu.0");
  EXPECT_EQ(index.calls[0].key, "Functional*relu*0");
  EXPECT_FALSE(index.of_overflow);
  EXPECT_TRUE(index.dump_data_dir.empty());
  const auto call = parse_call(index.calls[0], "forward_info_0.json");
  ASSERT_TRUE(call) << call.error().message;
  ASSERT_EQ(call->forward.input_args.size(), 1U);
  EXPECT_EQ(call->forward.input_args[0].as<TensorRecord>()->shape, (Shape{2, 3}));
  ASSERT_EQ(call->forward.input_kwargs.size(), 1U);
  ASSERT_TRUE(call->backward);
  ASSERT_EQ(call->backward->input.size(), 1U);
  EXPECT_TRUE(call->backward->output.empty());
}

TEST(LegacyFiles, TheLastBracketMayBeMissing) {
  for (const char* end : {"", "\n", ",", ",\n  "}) {
    const DumpIndex index = legacy_of("{" + entry("Functional*relu*0", kRelu) + ",\n" +
                                      entry("Functional*relu*1", kRelu) + end);
    EXPECT_EQ(index.calls.size(), 2U) << end;
    ASSERT_EQ(index.notes.size(), 1U) << end;
    EXPECT_NE(index.notes[0].find("the last '}' is missing"), std::string::npos) << index.notes[0];
  }
  EXPECT_TRUE(legacy_of("{").calls.empty());
  EXPECT_TRUE(legacy_of("{}").notes.empty());
}

TEST(LegacyFiles, AnEntryThatIsCutOffStaysACallThatCannotBeRead) {
  const std::string whole = "{" + entry("Functional*relu*0", kRelu) + ",\n";
  const std::string second = entry("Functional*relu*1", kRelu);
  const std::size_t value = second.find('{');
  for (std::size_t size = 1; size < second.size(); ++size) {
    const DumpIndex index = legacy_of(whole + second.substr(0, size));
    EXPECT_FALSE(index.notes.empty()) << size;
    ASSERT_EQ(index.calls.size(), size > value ? 2U : 1U) << size;
    EXPECT_TRUE(parse_call(index.calls[0], ""));
    if (size > value) {
      EXPECT_FALSE(parse_call(index.calls[1], "")) << size;
    }
  }
}

TEST(LegacyFiles, FaultsOfTheFileAreErrors) {
  for (const char* text :
       {"", "[]", "{\"Functional*relu*0\" 1}", "{\"Functional*relu*0\": {}} x",
        "{\"Functional*relu*0\": {} \"b\": 1}", "{1: 2}", "{,}", "{\"Functional*relu*0\": {},}"}) {
    EXPECT_FALSE(index_legacy(legacy_file(text), std::nullopt)) << text;
  }
}

TEST(LegacyFiles, OddRepeatedAndUnmatchedKeysAreCounted) {
  const DumpIndex index =
      legacy_of("{" + entry("Functional*relu*0", "{\"args\": 1}") + "," + entry("odd", "{}") + "," +
                    entry("Functional*relu*0", kRelu) + "}",
                "{" + entry("Functional*gelu*0", kGradient) + "}");
  ASSERT_EQ(index.calls.size(), 1U);
  EXPECT_TRUE(parse_call(index.calls[0], ""));  // the last one counts
  EXPECT_EQ(index.repeated_keys.size(), 1U);
  EXPECT_EQ(index.odd_key_count, 1U);
  EXPECT_EQ(index.unmatched_backward, 1U);
  EXPECT_EQ(index.unmatched_keys, std::vector<std::string>{"Functional*gelu*0"});
}

TEST(LegacyFiles, RealDataHaveNeitherShapeNorDtype) {
  const DumpIndex index = legacy_of(
      R"({"Functional_relu_0_forward": {"args": [{"type": "torch.Tensor",
          "datapath": "/home/x/forward_real_data/rank0/Functional_relu_0_forward.0.npy",
          "requires_grad": false}], "kwargs": {}}})");
  EXPECT_TRUE(index.of_overflow);
  EXPECT_FALSE(index.dump_data_dir.empty());
  ASSERT_EQ(index.calls.size(), 1U);
  const auto call = parse_call(index.calls[0], "");
  ASSERT_TRUE(call) << call.error().message;
  const auto* tensor = call->forward.input_args[0].as<TensorRecord>();
  EXPECT_FALSE(tensor->has_shape);
  EXPECT_FALSE(tensor->dtype);
  EXPECT_TRUE(tensor->data_name.ends_with("forward.0.npy"));
}

TEST(LegacyFiles, AreToldFromADumpByTheirContent) {
  EXPECT_TRUE(is_legacy(file_of("{" + entry("Functional*relu*0", kRelu))));
  EXPECT_TRUE(is_legacy(file_of("{}")));
  EXPECT_FALSE(is_legacy(file_of(R"({"task": "statistics", "data": {}})")));
  EXPECT_FALSE(is_legacy(file_of(R"({"data": {"Torch.mul.0.forward": {}}})")));
  EXPECT_FALSE(is_legacy(file_of("[1]")));
}

}  // namespace
}  // namespace msprobe::dump
