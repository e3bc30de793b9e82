// SPDX-License-Identifier: Apache-2.0
#include "check/merge_checks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/run_check.h"
#include "scratch_directory_for_test.h"

namespace msprobe::check {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class MergeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("MSPROBE_FAKE_DIRECTORY", scratch_.path().c_str(), 1);
    std::string data;
    for (int i = 0; i < 60; ++i) {
      data += fmt::format(
          "{}\"{}.{}.forward\": {{\"input_args\": [{{\"shape\": [{}]}}], "
          "\"input_kwargs\": {{}}, \"output\": []}}",
          i == 0 ? "" : ", ",
          i % 11 == 4   ? "Torch.error"
          : i % 13 == 6 ? "Torch.lost"
          : i % 17 == 3 ? "Torch.mapped"
          : i % 7 == 2  ? "Tensor.to"
                        : "Torch.a",
          i, i * i * 100);
    }
    dump_ = scratch_.write("dump.json",
                           fmt::format("{{\"task\": \"statistics\", \"framework\": \"pytorch\", "
                                       "\"dump_data_dir\": null, \"data\": {{{}}}}}",
                                       data));
  }

  CheckOptions options(const std::string& out, journal::Shard shard) {
    CheckOptions options;
    options.dump = dump_;
    options.out_directory = scratch_.path() / out;
    fs::create_directories(options.out_directory);
    options.request.engine.program = MSPROBE_FAKE_ENGINE;
    options.request.devices = {"cpu"};
    options.shard = shard;
    options.rerun = CallCommand("acc_check").add("-api_info", "dump.json");
    options.timestamp = [] { return "20260101000000"; };
    options.say = [](log::Severity, const std::string&) {};
    return options;
  }
  CheckOutcome check(const std::string& out, journal::Shard shard = {}) {
    const auto outcome = run_check(options(out, shard));
    EXPECT_TRUE(outcome) << outcome.error().message;
    return *outcome;
  }
  Result<MergeOutcome> merge(const std::vector<std::string>& directories) {
    MergeOptions options;
    for (const std::string& name : directories) {
      options.directories.push_back(scratch_.path() / name);
    }
    options.out_directory = scratch_.path() / "merged";
    fs::remove_all(options.out_directory);
    fs::create_directories(options.out_directory);
    options.timestamp = [] { return "20260202000000"; };
    return merge_checks(options);
  }
  std::string refused(const std::vector<std::string>& directories) {
    const auto outcome = merge(directories);
    return outcome ? "merged" : outcome.error().message;
  }

  ScratchDirectory scratch_;
  fs::path dump_;
};

TEST_F(MergeTest, GivesTheBytesOfOneMachine) {
  const CheckOutcome whole = check("whole");
  std::vector<std::string> directories;
  for (std::size_t number = 1; number <= 5; ++number) {
    directories.push_back(fmt::format("shard{}", 6 - number));  // any order
    check(directories.back(), {6 - number, 5});
  }
  const auto merged = merge(directories);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->shards, 5U);
  EXPECT_EQ(read_text(merged->paths.result), read_text(whole.paths.result));
  EXPECT_EQ(read_text(merged->paths.details), read_text(whole.paths.details));
  EXPECT_THAT(read_text(whole.paths.maps), HasSubstr("Torch.mapped.20.forward.output.1"));
  EXPECT_EQ(read_text(merged->paths.maps), read_text(whole.paths.maps));
  EXPECT_EQ(coverage_line(merged->coverage), coverage_line(whole.coverage));
}

TEST_F(MergeTest, AMergedCheckCanBeContinuedLikeAnyOther) {
  check("a", {1, 2});
  check("b", {2, 2});
  const auto merged = merge({"a", "b"});
  ASSERT_TRUE(merged);
  CheckOptions again = options("elsewhere", {});
  again.request.resume_csv = merged->paths.result;
  const auto resumed = run_check(again);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(coverage_line(resumed->coverage), coverage_line(merged->coverage));
}

TEST_F(MergeTest, SaysWhatIsMissingOrTwiceThere) {
  check("a", {1, 4});
  check("c", {3, 4});
  EXPECT_EQ(refused({"a", "c"}), "2 of 4 shards are missing: 2, 4");
  check("c2", {3, 4});
  EXPECT_THAT(refused({"a", "c", "c2"}), HasSubstr("shard 3/4 is given twice: "));
  check("w");
  EXPECT_THAT(refused({"w"}), HasSubstr("a whole check, not a shard of one"));
  fs::create_directory(scratch_.path() / "nothing");
  EXPECT_THAT(refused({"nothing"}), HasSubstr("no results of acc_check"));
  EXPECT_THAT(refused({"nowhere"}), HasSubstr("No such file or directory"));
}

TEST_F(MergeTest, RefusesShardsOfDifferentChecks) {
  check("a", {1, 2});
  CheckOptions other = options("b", {2, 2});
  other.request.engine.replay.seed = 99;
  ASSERT_TRUE(run_check(other));
  EXPECT_THAT(refused({"a", "b"}), HasSubstr("come from different checks: seed '1234' and '99'"));
  check("c", {2, 3});
  EXPECT_THAT(refused({"a", "c"}), HasSubstr("come from different checks: shard '1/2' and '2/3'"));
}

TEST_F(MergeTest, RefusesAnUnfinishedOrAlteredShard) {
  const CheckOutcome first = check("a", {1, 2});
  check("b", {2, 2});
  const std::string result = read_text(first.paths.result);
  scratch_.write("a/accuracy_checking_result_20260101000000.csv", result.substr(0, 100));
  EXPECT_THAT(refused({"a", "b"}), HasSubstr("were changed or cut off"));
  const std::string run = read_text(scratch_.path() / "a/accuracy_checking_run_20260101000000.txt");
  scratch_.write("a/accuracy_checking_run_20260101000000.txt", run.substr(0, run.find("finished")));
  EXPECT_THAT(refused({"a", "b"}), HasSubstr("shard 1/2 is not finished; continue it with "));
}

}  // namespace
}  // namespace msprobe::check
