// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/comparison_run.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::dump_compare {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ComparisonTotals, NameOnlyWhatThereIs) {
  Totals totals;
  totals.rows = 12;
  totals.outcomes = {};
  totals.outcomes[static_cast<std::size_t>(Outcome::kPass)] = 9;
  totals.outcomes[static_cast<std::size_t>(Outcome::kError)] = 3;
  EXPECT_EQ(totals_text(totals), "12 rows: 9 pass, 0 warning, 3 error");
  totals.outcomes[static_cast<std::size_t>(Outcome::kUnmatched)] = 5;
  totals.golden_only = 2;
  totals.outcomes[static_cast<std::size_t>(Outcome::kSkipped)] = 1;
  EXPECT_EQ(totals_text(totals),
            "12 rows: 9 pass, 0 warning, 3 error, 5 unmatched (3 only in the target, 2 only in the "
            "golden dump), 1 skipped (data cannot be read)");
}

class ComparisonRunTest : public ::testing::Test {
 protected:
  ComparisonRunTest() {
    options_.out = scratch_.path();
    options_.timestamp = "now";
    options_.say = [this](log::Severity, const std::string& text) { said_.push_back(text); };
    options_.print = [this](const std::string& text) { printed_ += text; };
    options_.on_pair = [this] { ++pairs_; };
    options_.show_progress = [](std::uint64_t, std::uint64_t) {};
  }

  // One call whose only output has this norm.
  fs::path dump(const fs::path& name, const std::string& norm) const {
    const std::string tensor =
        R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": )" + norm +
        R"(, "Min": 0.0, "Mean": 0.0, "Norm": )" + norm + R"(, "requires_grad": false})";
    return scratch_.write(
        name, R"({"task": "statistics", "framework": "pytorch", "data": {"Torch.exp.0.forward": )"
              R"({"input_args": [], "input_kwargs": {}, "output": [)" +
                  tensor + "]}}}");
  }
  static DumpPair pair(const fs::path& target, const fs::path& golden, std::int64_t rank) {
    return {target, golden, "_rank" + std::to_string(rank), "rank " + std::to_string(rank),
            0,      rank};
  }

  ScratchDirectory scratch_;
  ComparisonOptions options_;
  std::vector<std::string> said_;
  std::string printed_;
  int pairs_ = 0;
};

TEST_F(ComparisonRunTest, EveryPairHasItsTableAndItsLine) {
  const fs::path one = dump("a.json", "1.0");
  const fs::path other = dump("b.json", "8.0");
  options_.target = scratch_.path().string();
  const auto outcome = compare_all({{pair(one, one, 0), pair(one, other, 1)}, {}}, options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome->has_failed_pair);
  EXPECT_EQ(outcome->totals.rows, 2U);
  EXPECT_TRUE(fs::exists(scratch_.path() / "compare_result_rank0_now.csv"));
  EXPECT_TRUE(fs::exists(scratch_.path() / "compare_result_rank1_now.csv"));
  EXPECT_EQ(pairs_, 2);
  EXPECT_THAT(printed_, StartsWith("rank 0: 1 rows: 1 pass, 0 warning, 0 error\nrank 1: "));
  EXPECT_THAT(printed_, HasSubstr("\n2 rows: "));
  EXPECT_TRUE(outcome->runs.empty()) << "no report is asked for";
}

TEST_F(ComparisonRunTest, ADamagedPairDoesNotStopTheOthers) {
  const fs::path good = dump("a.json", "1.0");
  const fs::path damaged = scratch_.write("b.json", R"({"data": )");
  options_.target = good.string();
  const auto outcome = compare_all({{pair(damaged, good, 0), pair(good, good, 1)}, {}}, options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(outcome->has_failed_pair);
  EXPECT_THAT(said_, Contains(HasSubstr("b.json")));
  EXPECT_EQ(outcome->totals[Outcome::kPass], 1U);
  EXPECT_FALSE(outcome->compared_nothing());
  EXPECT_FALSE(outcome->differs());
}

TEST_F(ComparisonRunTest, TheCallWhereTheRunsPartIsWritten) {
  options_.diff_analyze = true;
  options_.for_report = true;
  const fs::path one = dump("a.json", "1.0");
  options_.target = one.string();
  const auto outcome = compare_all({{pair(one, dump("b.json", "8.0"), 0)}, {}}, options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const std::string analysis = read_text(scratch_.path() / "diff_analyze_now.json");
  EXPECT_THAT(analysis, HasSubstr(R"("op_name": "Torch.exp.0.forward")"));
  EXPECT_THAT(analysis, HasSubstr(R"("state": "output")"));
  EXPECT_THAT(printed_, HasSubstr("Torch.exp.0"));
  EXPECT_EQ(outcome->runs.size(), 1U);
}

TEST_F(ComparisonRunTest, WhatHasNoCounterpartIsNothing) {
  const auto outcome = compare_all({{}, {"rank 3 is only in the target"}}, options_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(said_, Contains("rank 3 is only in the target"));
  EXPECT_TRUE(outcome->compared_nothing());
}

}  // namespace
}  // namespace msprobe::dump_compare
