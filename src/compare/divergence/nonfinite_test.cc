// SPDX-License-Identifier: Apache-2.0
#include "divergence/nonfinite.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "divergence/made_run_for_test.h"
#include "scratch_directory_for_test.h"

namespace msprobe::divergence {
namespace {

using ::testing::HasSubstr;

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

std::vector<std::string> origins(const std::vector<Trace>& runs) {
  std::vector<RankRun> ranks;
  for (std::size_t i = 0; i < runs.size(); ++i) ranks.push_back({static_cast<int>(i), &runs[i]});
  std::vector<std::string> names;
  for (const NonFiniteCall& found : walk_nonfinite(ranks).origins) {
    names.push_back(std::to_string(found.place.rank) + " " +
                    std::string(runs[found.place.rank].calls[found.place.call].entry));
  }
  return names;
}

std::vector<Trace> one(const std::vector<MadeCall>& calls) {
  std::vector<Trace> runs;
  runs.push_back(made_run(calls));
  return runs;
}

TEST(NonFinite, IsFirstWhereInputsAreFinite) {
  EXPECT_THAT(origins(one({{"Torch.add", {1.0, 2.0}, {3.0}},
                           {"Torch.div", {3.0, 0.5}, {kInf}},
                           {"Torch.mul", {kInf, 0.0}, {kNaN}}})),
              testing::ElementsAre("0 Torch.div.0.forward"));
  EXPECT_THAT(origins(one({{"Torch.add", {1.0, 2.0}, {3.0}}})), testing::IsEmpty());
}

TEST(NonFinite, LeavesOutWhatIsMeant) {
  MadeTensor mask = 1.0;
  mask.min = -kInf;
  EXPECT_THAT(origins(one({{"Torch.empty", {}, {kNaN}},
                           {"Tensor.copy_", {kNaN, 1.0}, {1.0}},
                           {"Tensor.masked_fill", {1.0}, {mask}, "forward", {{"input.2", -kInf}}},
                           {"Tensor.__add__", {2.0, mask}, {mask}},
                           {"Functional.softmax", {mask}, {0.5}}})),
              testing::IsEmpty());
}

TEST(NonFinite, NamesAValueNobodyMade) {
  const auto runs =
      one({{"Torch.matmul", {1.0, kNaN}, {kNaN}}, {"Torch.mul", {2.0, kNaN}, {kNaN}}});
  const RankRun rank{0, &runs[0]};
  const NonFiniteWalk walk = walk_nonfinite(std::span(&rank, 1));
  ASSERT_EQ(walk.origins.size(), 1);
  EXPECT_EQ(walk.origins[0].cause, NonFiniteCause::kOutside);
  EXPECT_EQ(runs[0].paths[runs[0].tensors[walk.origins[0].tensor].path], "input.1");
  EXPECT_EQ(walk.carrying, 2);
}

std::vector<MadeCall> reducing(double before, double after, int calls_before) {
  std::vector<MadeCall> calls;
  for (int i = 0; i < calls_before; ++i) calls.push_back({"Torch.add", {1.0}, {1.0 + i}});
  calls.push_back({"Torch.exp", {1.0}, {before}});
  calls.push_back({"Distributed.all_reduce", {before}, {after}, "forward", {}, "[0, 1]"});
  calls.push_back({"Torch.log", {after}, {after}});
  return calls;
}

// Rank 0 gets its NaN from rank 1 and has it in its table earlier; rank 1 is to blame.
TEST(NonFinite, IsTracedToTheRankThatSentIt) {
  std::vector<Trace> runs;
  runs.push_back(made_run(reducing(2.0, kNaN, 0)));
  runs.push_back(made_run(reducing(kNaN, kNaN, 5)));
  EXPECT_THAT(origins(runs), testing::ElementsAre("1 Torch.exp.0.forward"));
}

TEST(NonFinite, OfASumIsTheCommunicationsOwn) {
  std::vector<Trace> runs;
  runs.push_back(made_run(reducing(60000.0, kInf, 0)));
  runs.push_back(made_run(reducing(60000.0, kInf, 5)));
  EXPECT_THAT(origins(runs), testing::ElementsAre("0 Distributed.all_reduce.0.forward",
                                                  "1 Distributed.all_reduce.0.forward"));
}

TEST(NonFinite, OrderIsThatOfTheMeetings) {
  // Rank 0 fails at once after the meeting, rank 1 long before it, though later in its own table.
  std::vector<MadeCall> first = reducing(2.0, 3.0, 0);
  first.push_back({"Torch.div", {3.0, 0.5}, {kInf}});
  std::vector<MadeCall> second{{"Torch.add", {1.0}, {2.5}}, {"Torch.add", {2.5}, {kInf}}};
  for (MadeCall& call : reducing(2.0, 3.0, 9)) second.push_back(std::move(call));
  std::vector<Trace> runs;
  runs.push_back(made_run(first));
  runs.push_back(made_run(second));
  EXPECT_THAT(origins(runs),
              testing::ElementsAre("1 Torch.add.1.forward", "0 Torch.div.0.forward"));
}

TEST(NonFinite, FollowsASend) {
  std::vector<Trace> runs;
  runs.push_back(made_run({{"Distributed.recv", {1.0}, {kNaN}, "forward", {{"input.src", 1}}}}));
  runs.push_back(made_run({{"Torch.log", {1.0}, {kNaN}},
                           {"Distributed.send", {kNaN}, {}, "forward", {{"input.dst", 0}}}}));
  EXPECT_THAT(origins(runs), testing::ElementsAre("1 Torch.log.0.forward"));
}

// Two ranks that both wait for a call the other one never recorded.
TEST(NonFinite, IncompleteRecordingsDoNotHang) {
  std::vector<Trace> runs;
  runs.push_back(made_run({{"Distributed.all_reduce", {1.0}, {1.0}, "forward", {}, "[0, 1]"},
                           {"Distributed.all_gather", {1.0}, {1.0}, "forward", {}, "[0, 1]"},
                           {"Torch.log", {1.0}, {kNaN}}}));
  runs.push_back(made_run({{"Distributed.all_gather", {1.0}, {1.0}, "forward", {}, "[0, 1]"},
                           {"Distributed.all_reduce", {1.0}, {1.0}, "forward", {}, "[0, 1]"},
                           {"Torch.log", {1.0}, {kNaN}}}));
  EXPECT_EQ(origins(runs).size(), 2);
}

class NonFiniteFiles : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const { scratch_.write(name, text); }
  ScratchDirectory scratch_;
  const std::filesystem::path directory_ = scratch_.path();
};

std::string dump_with(const std::string& max) {
  const std::string tensor =
      R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0, "Min": 0.0, "Mean": 0.5, "Norm": 1.0})";
  const std::string made =
      R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": )" + max +
      R"(, "Min": 0.0, "Mean": 0.5, "Norm": 1.0})";
  return R"({"task": "statistics", "level": "L1", "framework": "pytorch", "data": {"Torch.exp.0.forward": {"input_args": [)" +
         tensor + R"(], "input_kwargs": {}, "output": [[)" + made + "]]}}}";
}

TEST_F(NonFiniteFiles, SayWhereAndHowToReplay) {
  write("step0/rank0/dump.json", dump_with("1.0"));
  write("step1/rank0/dump.json", dump_with("1.0"));
  write("step1/rank1/dump.json", dump_with("Infinity"));
  write("step1/rank1/stack.json", R"x({"0": [["Torch.exp.0.forward"],
      ["File /x/site-packages/torch/a.py, line 1, in f, \n a",
       "File train.py, line 31, in forward, \n y = x.exp()"]]})x");
  write("step1/rank1/construct.json", R"({"Torch.exp.0.forward": "Module.m.M.forward.0"})");
  const auto report = find_nonfinite(directory_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->directory.filename(), "step1");
  ASSERT_EQ(report->origins.size(), 1);
  const NonFiniteOrigin& origin = report->origins[0];
  EXPECT_EQ(origin.rank, 1);
  EXPECT_EQ(origin.item, "Torch.exp.0.forward.output.0.0");  // a list in the output counts too
  EXPECT_EQ(origin.module, "Module.m.M.forward.0");
  EXPECT_EQ(origin.source, "File train.py, line 31, in forward, y = x.exp()");
  EXPECT_THAT(origin.rerun, HasSubstr("--only Torch.exp.0"));
  EXPECT_THAT(describe(*report),
              testing::StartsWith("First: inf appears on rank 1 in Torch.exp.0.forward.output"));
  JsonWriter json;
  write_json(*report, json);
  EXPECT_THAT(json.text(), HasSubstr("\"op_name\": \"Torch.exp.0.forward\""));
}

TEST_F(NonFiniteFiles, SayWhatIsMissing) {
  const auto nothing = find_nonfinite(directory_);
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message, HasSubstr("neither dump.json"));
  write("rank0/dump.json", "{");
  EXPECT_FALSE(find_nonfinite(directory_));
  write("rank1/dump.json", dump_with("1.0"));
  const auto half = find_nonfinite(directory_);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->notes.size(), 1);
  EXPECT_THAT(describe(*half), HasSubstr("No call"));
}

}  // namespace
}  // namespace msprobe::divergence
