// SPDX-License-Identifier: Apache-2.0
#include "check/plan.h"

#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/structure.h"

namespace msprobe::check {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

dump::DumpIndex index_of(const std::string& data) {
  const std::string text =
      "{\"task\": \"statistics\", \"level\": \"L1\", \"framework\": "
      "\"pytorch\", \"dump_data_dir\": null, \"data\": {" +
      data + "}}";
  auto memory = std::make_shared<std::string>(text);
  const auto bytes = std::as_bytes(std::span(memory->data(), memory->size()));
  auto index = dump::index_dump(FileBytes{memory, bytes}, "dump.json");
  EXPECT_TRUE(index) << index.error().message;
  return std::move(*index);
}

std::string entry(const std::string& name, const std::string& args = "",
                  const std::string& kwargs = "") {
  return fmt::format(
      "\"{}.forward\": {{\"input_args\": [{}], \"input_kwargs\": {{{}}}, "
      "\"output\": []}}",
      name, args, kwargs);
}

std::string tensor(const std::string& shape, double max, const std::string& more = "") {
  return fmt::format(
      "{{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": {}, "
      "\"Max\": {}, \"Min\": -1.0, \"Mean\": {}, \"Norm\": 3.0, "
      "\"requires_grad\": false{}}}",
      shape, max, max / 2, more);
}

std::vector<std::string> shown(const dump::DumpIndex& dump, const Result<Plan>& plan) {
  std::vector<std::string> rows;
  if (!plan) return {plan.error().message};
  for (const PlannedCall& call : plan->calls) {
    rows.push_back(fmt::format("{}:{}", dump.calls[call.index].full_name, name(call.skip)));
  }
  return rows;
}

TEST(Plan, EveryKindOfCall) {
  const dump::DumpIndex dump = index_of(
      entry("Functional.conv2d.0") + "," + entry("Distributed.all_reduce.0") + "," +
      entry("MindSpeed.npu_x.0") + "," + entry("Torch.a.b.c.0") + "," + entry("=Torch.add.0") +
      "," + entry("Tensor.to.3") + "," + entry("Torch.empty_like.0") + "," +
      entry("Torch.linalg.norm.0") + "," + entry("VF.lstm.0") + "," + entry("Mint.foo.0"));
  const auto plan = plan_calls(dump, {});
  EXPECT_THAT(
      shown(dump, plan),
      ElementsAre("Functional.conv2d.0:none", "Distributed.all_reduce.0:not_supported",
                  "MindSpeed.npu_x.0:not_supported", "Torch.a.b.c.0:not_supported",
                  "=Torch.add.0:hostile", "Tensor.to.3:filtered", "Torch.empty_like.0:filtered",
                  "Torch.linalg.norm.0:none", "VF.lstm.0:none", "Mint.foo.0:none"));
  EXPECT_EQ(plan->recorded, 10U);
}

TEST(Plan, WhiteAndBlackLists) {
  const dump::DumpIndex dump =
      index_of(entry("Torch.a.0") + "," + entry("Tensor.b.0") + "," + entry("Torch.c.0"));
  const auto runs = [&](std::vector<std::string> white, std::vector<std::string> black) {
    const auto plan = plan_calls(dump, {.white_list = white, .black_list = black});
    std::string letters;
    for (const PlannedCall& call : plan->calls) {
      if (call.skip == SkipReason::kNone) letters += "abc"[call.index];
    }
    return letters;
  };
  EXPECT_EQ(runs({"a", "b"}, {"c"}), "ab");
  EXPECT_EQ(runs({"a", "b"}, {"b"}), "a");
  EXPECT_EQ(runs({}, {"b"}), "ac");
  EXPECT_EQ(runs({}, {}), "abc");
}

TEST(Plan, OnlyTheNamedCalls) {
  const dump::DumpIndex dump =
      index_of(entry("Torch.a.0") + "," + entry("Torch.a.1") + "," + entry("Torch.b.0"));
  const auto plan = plan_calls(dump, {.only = {"Torch.b.0", "Torch.a.1.forward.output.0"}});
  EXPECT_THAT(shown(dump, plan), ElementsAre("Torch.a.1:none", "Torch.b.0:none"));
  EXPECT_EQ(plan->not_selected, 1U);
  const auto none = plan_calls(dump, {.only = {"Torch.z.0"}});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no call named Torch.z.0 (3 calls"));
}

TEST(Plan, OnlyTakesApisAndPatterns) {
  const dump::DumpIndex dump =
      index_of(entry("Torch.matmul.0") + "," + entry("Torch.matmul.1") + "," +
               entry("Functional.linear.0") + "," + entry("Tensor.matmul.0"));
  const auto selected = [&](const std::string& word) {
    return shown(dump, plan_calls(dump, {.only = {word}}));
  };
  EXPECT_THAT(selected("matmul"),
              ElementsAre("Torch.matmul.0:none", "Torch.matmul.1:none", "Tensor.matmul.0:none"));
  EXPECT_THAT(selected("Torch.matmul"), ElementsAre("Torch.matmul.0:none", "Torch.matmul.1:none"));
  EXPECT_THAT(selected("Functional.*"), ElementsAre("Functional.linear.0:none"));
  EXPECT_THAT(selected("*.0"), ElementsAre("Torch.matmul.0:none", "Functional.linear.0:none",
                                           "Tensor.matmul.0:none"));
  EXPECT_THAT(selected("lin*"), ElementsAre("Functional.linear.0:none"));
}

TEST(Plan, AWordThatSelectsNothingIsAnErrorWithWhatIsNear) {
  const dump::DumpIndex dump =
      index_of(entry("Torch.matmul.0") + "," + entry("Torch.matmul.1") + "," + entry("Torch.mm.0"));
  const auto message = [&](const std::string& word) {
    return plan_calls(dump, {.only = {"Torch.mm.0", word}}).error().message;
  };
  EXPECT_THAT(message("Torch.matmul.7"), HasSubstr("it has Torch.matmul.0, Torch.matmul.1"));
  EXPECT_THAT(message("matmull"), HasSubstr("did you mean matmul?"));
  EXPECT_THAT(message("Torch.matmal.0"), HasSubstr("did you mean Torch.matmul?"));
  EXPECT_THAT(message("conv*"), HasSubstr("no call named conv* (3 calls"));
}

TEST(Plan, RepeatsAreDroppedByStructure) {
  const std::string inner = fmt::format("[{}]", tensor("[3]", 5));
  const dump::DumpIndex dump = index_of(
      entry("Torch.a.0", tensor("[2]", 1)) + "," + entry("Torch.a.1", tensor("[2]", 7)) + "," +
      entry("Torch.a.2", tensor("[2]", 1, ", \"data_name\": \"x.pt\", \"md5\": \"ab\"")) + "," +
      entry("Torch.a.3", tensor("[4]", 1)) + "," + entry("Torch.b.0", tensor("[2]", 1)) + "," +
      entry("Torch.a.4", inner) + "," + entry("Torch.a.5", fmt::format("[{}]", tensor("[3]", 9))) +
      "," + entry("Torch.a.6", "", "\"x\": " + tensor("[2]", 1)) + "," +
      entry("Torch.a.7", "", "\"x\": " + tensor("[2]", 2)) + "," +
      entry("Torch.a.8", tensor("[2]", 8)) + ", \"Torch.a.8.backward\": {\"input\": [" +
      tensor("[2]", 1) + "], \"output\": []}," + entry("Torch.c.0", tensor("7", 1)) + "," +
      entry("Torch.c.1", tensor("7", 1)));
  const auto plan = plan_calls(dump, {.drop_repeats = true});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->repeats, 4U) << "a.1, a.2, a.5, a.7; a.8 has a backward pass";
  EXPECT_EQ(plan->calls.size(), 8U);
}

TEST(Structure, ValuesOfPlainArgumentsAndKeywordOrder) {
  const auto hash = [](const std::string& args, const std::string& kwargs) {
    const dump::DumpIndex dump = index_of(entry("Torch.a.0", args, kwargs));
    return structure_hash(*dump::parse_call(dump.calls[0], ""));
  };
  const std::string one = R"({"type": "int", "value": 1})";
  const std::string two = R"({"type": "int", "value": 2})";
  EXPECT_NE(hash(one, ""), hash(two, "")) << "an int is a parameter, not a statistic";
  EXPECT_EQ(hash("", "\"a\": " + one + ", \"b\": " + two),
            hash("", "\"b\": " + two + ", \"a\": " + one));
  EXPECT_NE(hash("", "\"a\": " + one), hash("", "\"b\": " + one));
  EXPECT_NE(hash(one + "," + two, ""), hash("[" + one + "," + two + "]", ""));
  EXPECT_NE(hash("null", ""), hash("", ""));
}

}  // namespace
}  // namespace msprobe::check
