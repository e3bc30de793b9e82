// SPDX-License-Identifier: Apache-2.0
#include "divergence/first_divergence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "divergence/made_run_for_test.h"

namespace msprobe::divergence {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Calls = std::vector<MadeCall>;

DivergenceReport compare_ranks(const std::vector<Calls>& target, const std::vector<Calls>& golden) {
  std::vector<Trace> traces;
  traces.reserve(target.size() + golden.size());
  for (const Calls& calls : target) traces.push_back(made_run(calls));
  for (const Calls& calls : golden) traces.push_back(made_run(calls));
  std::vector<RankPair> pairs;
  for (std::size_t i = 0; i < target.size(); ++i) {
    pairs.push_back({static_cast<int>(i), &traces[i], &traces[target.size() + i], "dump.json"});
  }
  return find_divergence(pairs);
}

Calls reducing(int before, double own, double sum, double after) {
  Calls calls;
  for (int i = 0; i < before; ++i) calls.push_back({"Torch.add", {1.0 + i}, {2.0 + i}});
  calls.push_back({"Torch.exp", {0.5}, {own}});
  calls.push_back({"Distributed.all_reduce", {own}, {sum}, "forward", {}, "[0, 1]"});
  calls.push_back({"Torch.log", {sum}, {after}});
  return calls;
}

// Rank 0 shows it first in its own table: its sum is wrong, its inputs are right. Rank 1 made it.
TEST(DivergenceOverRanks, IsTracedToTheRankThatSentIt) {
  const DivergenceReport report = compare_ranks({reducing(0, 3, 9, 4), reducing(9, 6, 9, 4)},
                                                {reducing(0, 3, 7, 2), reducing(9, 4, 7, 2)});
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->rank, 1);
  EXPECT_EQ(report.first->target, "Torch.exp.0.forward");
  EXPECT_EQ(report.introducing, 1);
  EXPECT_EQ(report.inheriting, 4);
  EXPECT_THAT(describe(report), StartsWith("The runs diverge on rank 1 at Torch.exp.0.forward: its "
                                           "inputs are equal, Torch.exp.0.forward.output.0 "
                                           "differs by 50 %.\n"));
}

TEST(DivergenceOverRanks, OfAReductionIsItsOwn) {
  const DivergenceReport report = compare_ranks({reducing(0, 3, 9, 4), reducing(9, 4, 9, 4)},
                                                {reducing(0, 3, 7, 2), reducing(9, 4, 7, 2)});
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->target, "Distributed.all_reduce.0.forward");
  EXPECT_EQ(report.first->rerun, "");
  EXPECT_EQ(report.introducing, 2);
}

TEST(DivergenceWords, SayWhatToDoNext) {
  const DivergenceReport report =
      compare_ranks({{{"Functional.dropout", {1.0}, {1.0}, "forward", {{"input.1", 0.0}}}}},
                    {{{"Functional.dropout", {1.0}, {1.3}, "forward", {{"input.1", 0.1}}}}});
  const std::string text = describe(report);
  EXPECT_THAT(text, HasSubstr("input.1 is 0.000000, golden 0.100000"));
  EXPECT_THAT(text, HasSubstr("msprobe acc_check -api_info dump.json --only Functional.dropout.0"));
  EXPECT_THAT(text, HasSubstr("1 calls: 0 agree, 1 introduces a difference."));
}

// Statistics agree, the numbers in the files do not: what no recorded call made differs already.
TEST(DivergenceWords, OfAnInputThatDiffersInItsFilesAlone) {
  const Trace run = made_run(Calls{{"Torch.exp", {1.0}, {2.0}}});
  const MeasureFiles measure = [](auto&&...) { return std::optional<double>(0.04); };
  const RankPair pair{0, &run, &run, "dump.json", measure};
  EXPECT_THAT(
      describe(find_divergence({&pair, 1})),
      StartsWith("The runs diverge at an input: Torch.exp.0.forward.input.0 differs by 4 %, "
                 "and no recorded call made it"));
}

// A first difference that nobody introduces, and a call that introduces another one.
TEST(DivergenceWords, OfRunsThatDriftApart) {
  const auto run = [](double in, double out, double other) -> Calls {
    return {{"Torch.exp", {MadeTensor(1 + in)}, {MadeTensor(2 * (1 + out))}},
            {"Torch.log", {7.0}, {MadeTensor(other)}}};
  };
  const std::string text = describe(compare_ranks({run(0.004, 0.03, 6)}, {run(0, 0, 4)}));
  EXPECT_THAT(text, StartsWith("The runs drift apart: no single call introduces the first "
                               "difference; small differences add up and exceed the tolerance at "
                               "Torch.exp.0.forward (inputs 0.4 %, outputs 3 %).\n"));
  EXPECT_THAT(text, HasSubstr("2 calls: 0 agree, 1 introduces a further difference, 1 inherits "
                              "one."));
}

// Sums whose terms cancel share no digit between two devices.
TEST(DivergenceWords, OfRunsThatDifferWithinRounding) {
  const auto run = [](double first, double second, double third) -> Calls {
    return {{"Torch.sum", {100.0}, {MadeTensor(first).of({})}},
            {"Torch.sum", {101.0}, {MadeTensor(second).of({})}},
            {"Torch.sum", {102.0}, {MadeTensor(third).of({})}}};
  };
  const std::string text =
      describe(compare_ranks({run(1e-6, 3e-6, 4e-6)}, {run(2e-6, 7e-6, 9e-6)}));
  EXPECT_THAT(text, StartsWith("The runs agree: 3 of 3 calls were compared, and no output differs "
                               "by more than rounding explains.\n"));
  EXPECT_THAT(text, HasSubstr("3 calls: 0 agree, 3 differ within rounding."));
}

TEST(DivergenceWords, OfRunsThatAgree) {
  const Calls calls{{"Torch.add", {1.0}, {2.0}}};
  const DivergenceReport report = compare_ranks({calls}, {calls});
  EXPECT_THAT(describe(report), StartsWith("The runs agree: 1 of 1 calls were compared"));
  JsonWriter json;
  json.begin_object();
  write_json(report, json);
  json.end_object();
  EXPECT_THAT(json.text(), HasSubstr("\"first_divergence\": null"));
  EXPECT_THAT(describe(compare_ranks({calls}, {{}})), HasSubstr("no call in common"));
}

}  // namespace
}  // namespace msprobe::divergence
