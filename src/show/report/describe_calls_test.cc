// SPDX-License-Identifier: Apache-2.0
#include "report/describe_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::report {
namespace {

constexpr std::string_view kDump = R"({"task": "statistics", "level": "L1", "data": {
  "Torch.mm.0.forward": {
    "input_args": [{"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2, 3], "Max": 1.5,
                    "Min": -2.25, "Mean": 0.1, "Norm": 2.0, "requires_grad": true}],
    "input_kwargs": {"p": {"type": "int", "value": 2}}, "output": []},
  "Torch.mm.1.forward": {"input_args": [], "input_kwargs": {}, "output": []}}})";
constexpr std::string_view kStacks = R"json({"0": [["Torch.mm.0.forward", "Torch.mm.1.forward"], [
  "File /usr/lib/python3/dist-packages/torch/nn/m.py, line 7, in forward, \n return mm(a)",
  "File /home/me/net.py, line 50, in forward, \n x = self.tok(idx)"]]})json";

ReportRun two_calls() {
  ReportRun run;
  for (const char* name : {"Torch.mm.0", "Torch.mm.1"}) {
    run.calls.emplace_back().name = name;
    run.calls.back().api = "Torch.mm";
  }
  return run;
}

TEST(DescribeCalls, ArgumentsAndTheUsersLine) {
  const ScratchDirectory scratch;
  const auto dump = scratch.write("dump.json", kDump);
  scratch.write("stack.json", kStacks);
  ReportRun run = two_calls();
  const Result<std::string> warning = describe_calls(run, dump);
  ASSERT_TRUE(warning.has_value()) << warning.error().message;
  EXPECT_EQ(*warning, "");
  EXPECT_EQ(run.calls[0].arguments, "input\tfloat16 (2, 3)  -2.25 .. 1.5  requires grad\np\t2");
  ASSERT_EQ(run.stacks.size(), 1U) << "the same stack is kept once";
  EXPECT_EQ(run.calls[1].stack, 0U);
  EXPECT_EQ(own_frame(run.stacks[0])->line, 50U);
  EXPECT_EQ(run.group_title, "source line");
  EXPECT_EQ(run.calls[0].group, "net.py:50  x = self.tok(idx)");
}

TEST(DescribeCalls, ModulesComeBeforeLines) {
  const ScratchDirectory scratch;
  const auto dump = scratch.write("dump.json", kDump);
  scratch.write("stack.json", kStacks);
  scratch.write("construct.json",
                R"({"Torch.mm.0.forward": "Module.head.Linear.forward.0",
                    "Torch.mm.1.forward": ["Module.tail.Linear.forward.3", 1]})");
  ReportRun run = two_calls();
  ASSERT_TRUE(describe_calls(run, dump).has_value());
  EXPECT_EQ(run.group_title, "module");
  EXPECT_EQ(run.calls[0].group, "head");
  EXPECT_EQ(run.calls[1].group, "tail");
  EXPECT_EQ(run.group_kinds.at("head"), "Linear");
}

TEST(DescribeCalls, TheModuleOfACallIsKnownWithoutATree) {
  const ScratchDirectory scratch;
  const auto dump = scratch.write("dump.json", kDump);
  scratch.write("stack.json", kStacks);
  scratch.write("construct.json", "{}");
  scratch.write("call_sites.json",
                R"({"Torch.mm.0.forward": {"module": "head", "line": "/home/me/net.py:50"}})");
  ReportRun run = two_calls();
  ASSERT_TRUE(describe_calls(run, dump).has_value());
  EXPECT_EQ(run.group_title, "module");
  EXPECT_EQ(run.calls[0].group, "head");
  EXPECT_EQ(run.calls[0].site.line, "/home/me/net.py:50");
  EXPECT_EQ(run.calls[1].group, "net.py:50  x = self.tok(idx)");
  EXPECT_TRUE(run.calls[1].site.empty());
}

TEST(DescribeCalls, ABrokenStackFileCostsTheStacksOnly) {
  const ScratchDirectory scratch;
  const auto dump = scratch.write("dump.json", kDump);
  scratch.write("stack.json", "{\"0\": [[");
  ReportRun run = two_calls();
  const Result<std::string> warning = describe_calls(run, dump);
  ASSERT_TRUE(warning.has_value());
  EXPECT_THAT(*warning, testing::HasSubstr("stack.json"));
  EXPECT_EQ(run.calls[0].group, "Torch");
  EXPECT_FALSE(run.calls[0].arguments.empty());
}

TEST(ParseFrame, TakesAFrameApart) {
  const StackFrame frame =
      parse_frame("File <app>/a b.py, line 49, in forward, \n pos = f(x, in y)\n");
  EXPECT_EQ(frame.file, "<app>/a b.py");
  EXPECT_EQ(frame.line, 49U);
  EXPECT_EQ(frame.function, "forward");
  EXPECT_EQ(frame.code, "pos = f(x, in y)");
  EXPECT_FALSE(frame.library);
  EXPECT_TRUE(parse_frame("File <site-packages>/t.py, line 1, in f, \n g()").library);
  EXPECT_EQ(parse_frame("something else").code, "something else");
}

}  // namespace
}  // namespace msprobe::report
