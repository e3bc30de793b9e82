// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/dump_report.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::dump_compare {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

FileBytes bytes_of(const std::string& text) {
  auto kept = std::make_shared<std::string>(text);
  return {.owner = kept, .bytes = std::as_bytes(std::span(*kept))};
}

// The tree of modules of calls, given as name and the module call they ran in.
report::ReportRun report_of(const std::string& construct,
                            const std::vector<std::pair<std::string, std::string>>& calls) {
  const auto modules = dump::index_construct(bytes_of(construct), "construct.json");
  EXPECT_TRUE(modules);
  CompareStart start;
  start.mode = DataMode::kStatistics;
  start.open.modules = std::make_shared<const dump::ConstructIndex>(*modules);
  DumpCompareReport report({}, start, "dump.json");
  for (const auto& [name, module] : calls) {
    EntryRows rows;
    rows.target = std::make_unique<dump::Entry>();
    rows.target->name = name;
    rows.target->parts = *dump::parse_entry_name(rows.target->name);
    const dump::Item item;
    rows.module = module;
    ItemRow& row = rows.rows.emplace_back();
    row.target_entry = rows.target.get();
    row.target = &item;
    report.add(rows);
  }
  report.complete(DivergenceSearch());
  return report.run();
}

TEST(DumpReport, ForwardAndBackwardOfAModuleAreOneGroupOfATree) {
  const report::ReportRun run = report_of(
      R"({"Functional.linear.0.forward": "Module.net.fc.Linear.forward.0",
          "Module.net.fc.Linear.forward.0": "Module.net.Net.forward.0",
          "Module.net.Net.forward.0": null,
          "Functional.linear.0.backward": "Module.net.fc.Linear.backward.0",
          "Module.net.fc.Linear.backward.0": "Module.net.Net.backward.0",
          "Torch.add.0.forward": "optimizer"})",
      {{"Functional.linear.0.forward", "Module.net.fc.Linear.forward.0"},
       {"Module.net.fc.Linear.forward.0", "Module.net.Net.forward.0"},
       {"Functional.linear.0.backward", "Module.net.fc.Linear.backward.0"},
       {"Module.net.fc.Linear.parameters_grad.0", ""},
       {"Module.net.fc.Linear.backward.0", "Module.net.Net.backward.0"},
       {"Torch.add.0.forward", "optimizer"},
       {"Torch.add.1.forward", ""}});
  std::vector<std::string> groups;
  for (const report::ReportCall& call : run.calls) groups.push_back(call.group);
  const std::string linear = "Module.net.fc.Linear";
  EXPECT_EQ(groups, (std::vector<std::string>{linear, linear, linear, linear, linear, "optimizer",
                                              "no module"}));
  EXPECT_THAT(run.group_parents,
              UnorderedElementsAre(Pair(linear, "Module.net.Net"), Pair("Module.net.Net", ""),
                                   Pair("optimizer", "")));
}

// The construct.json of level L1 is empty; the call sites know the modules too.
TEST(DumpReport, WithoutConstructTheCallSitesNameTheModule) {
  const std::filesystem::path directory = std::filesystem::path(testing::TempDir()) / "call_sites";
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "call_sites.json")
      << R"({"Functional.linear.0.forward": {"module": "net.fc", "line": "/home/me/net.py:3"}})";
  CompareStart start;
  start.mode = DataMode::kStatistics;
  DumpPair pair;
  pair.target = directory / "dump.json";
  DumpCompareReport report(pair, start, "dump.json");
  for (const char* name : {"Functional.linear.0.backward", "Torch.add.0.forward"}) {
    EntryRows rows;
    rows.target = std::make_unique<dump::Entry>();
    rows.target->name = name;
    rows.target->parts = *dump::parse_entry_name(rows.target->name);
    const dump::Item item;
    ItemRow& row = rows.rows.emplace_back();
    row.target_entry = rows.target.get();
    row.target = &item;
    report.add(rows);
  }
  const report::ReportRun run = report.run();
  EXPECT_EQ(run.calls[0].group, "net.fc");
  EXPECT_EQ(run.calls[0].site.line, "/home/me/net.py:3");
  EXPECT_EQ(run.calls[1].group, "no module");
}

// A recomputed call runs below the backward pass of its own part, and files can say anything.
TEST(DumpReport, ModulesThatAreWithinEachOtherMakeNoCircle) {
  const report::ReportRun run = report_of(
      R"({"Torch.exp.0.forward": "Module.a.A.forward.0", "Module.a.A.forward.0": "Module.b.B.forward.0",
          "Module.b.B.forward.0": "Module.c.C.forward.0", "Module.c.C.forward.0": "Module.a.A.forward.0"})",
      {{"Torch.exp.0.forward", "Module.a.A.forward.0"}});
  EXPECT_THAT(run.group_parents,
              UnorderedElementsAre(Pair("Module.a.A", "Module.b.B"),
                                   Pair("Module.b.B", "Module.c.C"), Pair("Module.c.C", "")));
}

}  // namespace
}  // namespace msprobe::dump_compare
