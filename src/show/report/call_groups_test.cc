// SPDX-License-Identifier: Apache-2.0
#include "report/call_groups.h"

#include <gmock/gmock.h>

#include "scratch_directory_for_test.h"

namespace msprobe::report {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Pair;

ReportRun calls_of(std::initializer_list<const char*> modules) {
  ReportRun run;
  for (const char* module : modules) {
    ReportCall& call = run.calls.emplace_back();
    call.name = "Torch.mm." + std::to_string(run.calls.size() - 1);
    call.site.module = module;
  }
  return run;
}

TEST(CallGroups, ModulesHangBelowTheirPathsAndTheModel) {
  ReportRun run = calls_of({"Net", "layers.0.norm2", "layers.1", "head"});
  group_calls(run, {});
  EXPECT_EQ(run.group_title, "module");
  EXPECT_EQ(run.calls[1].group, "layers.0.norm2");
  EXPECT_THAT(run.group_parents,
              testing::UnorderedElementsAre(Pair("Net", ""), Pair("layers.0.norm2", "layers.0"),
                                            Pair("layers.0", "layers"), Pair("layers", "Net"),
                                            Pair("layers.1", "layers"), Pair("head", "Net")));
}

TEST(CallGroups, TwoModelsAreBesideEachOther) {
  ReportRun run = calls_of({"Actor", "Critic", "head"});
  group_calls(run, {});
  EXPECT_THAT(run.group_parents, IsSupersetOf({Pair("Actor", ""), Pair("head", "")}));
}

TEST(CallGroups, CallsOutsideOfTheModelAreGroupedByTheirLines) {
  ReportRun run = calls_of({"head", "", ""});
  run.stacks = {{{.file = "/home/me/train.py", .line = 9, .function = "main", .code = "f(x)"}}};
  run.calls[1].stack = 0;
  group_calls(run, {});
  EXPECT_EQ(run.calls[1].group, "train.py:9  f(x)");
  EXPECT_EQ(run.calls[2].group, kOutsideTheModel);
  EXPECT_THAT(run.group_parents, IsSupersetOf({Pair("train.py:9  f(x)", kOutsideTheModel)}));
}

TEST(CallGroups, ConstructGivesModulesAndTheirClasses) {
  const ScratchDirectory scratch;
  const auto path = scratch.write("construct.json", R"({
      "Module.net.0.Linear.forward.0": "Module.net.Net.forward.0",
      "Torch.mm.0.forward": "Module.net.0.Linear.forward.0",
      "Torch.mm.1.forward": ["Module.net.Net.forward.0", 3],
      "Torch.mm.2.forward": "optimizer", "Torch.mm.3.forward": null})");
  const Result<ModuleNames> modules = read_construct(path);
  ASSERT_TRUE(modules.has_value()) << modules.error().message;
  EXPECT_THAT(modules->of_call, ElementsAre(Pair("Torch.mm.0", "net.0"), Pair("Torch.mm.1", "net"),
                                            Pair("Torch.mm.2", "optimizer")));
  ReportRun run = calls_of({"", "", "", ""});
  group_calls(run, *modules);
  EXPECT_EQ(run.calls[0].group, "net.0");
  EXPECT_EQ(run.calls[3].group, kOutsideTheModel);
  EXPECT_THAT(run.group_kinds, ElementsAre(Pair("net", "Net"), Pair("net.0", "Linear")));
  EXPECT_FALSE(read_construct(scratch.write("broken.json", "[]")).has_value());
}

TEST(CallGroups, AVeryDeepPathHangsAtTheTop) {
  std::string deep = "a";
  for (int i = 0; i < 5000; ++i) deep += ".a";
  ReportRun run = calls_of({deep.c_str()});
  group_calls(run, {});
  EXPECT_THAT(run.group_parents, ElementsAre(Pair(deep, "")));
}

}  // namespace
}  // namespace msprobe::report
