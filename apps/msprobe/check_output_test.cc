// SPDX-License-Identifier: Apache-2.0
// Tests the output and the exit status of a check, made from the calls and outcomes that it
// reports.
#include "check_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::app {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// One call with one output.
check::JudgedCall judged(const std::string& name, Verdict status, Verdict strict,
                         const std::string& cause = "") {
  documented::DetailRow row;
  row.api_name = name + ".forward.output.0";
  row.status = status;
  row.strict_status = strict;
  row.likely_cause = cause;
  row.error_over_bound = strict == Verdict::kError ? 80 : 0;
  return {{row},
          {.api_name = name, .forward = status, .backward = {}, .message = {}, .strict = strict}};
}

class CheckOutputTest : public testing::Test {
 protected:
  // Ends a check of the calls that were judged.
  static check::CheckOutcome outcome_of(const std::vector<check::JudgedCall>& calls) {
    check::CheckOutcome outcome;
    outcome.device = "sim:0";
    outcome.total = outcome.done = outcome.coverage.recorded = calls.size();
    for (const check::JudgedCall& call : calls) outcome.coverage.add(call.result);
    return outcome;
  }
  // What is printed for one check; `status_` is its exit status.
  std::string shown(ShownOptions shown, const std::vector<check::JudgedCall>& calls,
                    documented::VerdictOptions verdict = {}) {
    testing::internal::CaptureStdout();
    CheckOutput output(std::move(shown), std::move(verdict));
    check::CheckOptions options;
    options.dump = scratch_.path() / "dump.json";
    options.rerun = CallCommand("acc_check").add("-api_info", "dump.json");
    options.working_directory = scratch_.path();
    output.watch(options);
    for (const check::JudgedCall& call : calls) options.judged(call);
    output.end(outcome_of(calls));
    worst_calls_ = output.worst_calls(2);
    status_ = output.close();
    return testing::internal::GetCapturedStdout();
  }

  ScratchDirectory scratch_;
  ExitStatus status_ = kCannot;
  std::vector<std::string> worst_calls_;
};

const check::JudgedCall kGood = judged("Torch.add.0", Verdict::kPass, Verdict::kPass);
const check::JudgedCall kWrong =
    judged("Torch.mm.0", Verdict::kError, Verdict::kError, "lost terms: the last 4 of 16");
const check::JudgedCall kFlagged = judged("Torch.exp.0", Verdict::kError, Verdict::kPass);

TEST_F(CheckOutputTest, CallsThatPassAreNotListed) {
  const std::string text = shown({}, {kGood});
  EXPECT_THAT(text, AllOf(HasSubstr("1 call checked"), Not(HasSubstr("Torch.add.0"))));
  EXPECT_EQ(status_, kPassed);
  EXPECT_THAT(worst_calls_, IsEmpty());
}

TEST_F(CheckOutputTest, AWrongCallHasALineAndACommand) {
  const std::string text = shown({}, {kGood, kWrong});
  EXPECT_THAT(text, AllOf(HasSubstr("FAIL Torch.mm.0"), HasSubstr("lost terms"),
                          HasSubstr("--only Torch.mm.0")));
  EXPECT_EQ(status_, kFailed);
  EXPECT_THAT(worst_calls_, ElementsAre("Torch.mm.0"));
}

TEST_F(CheckOutputTest, TheDocumentedThresholdsCountWhereTheUserAsksForThem) {
  EXPECT_THAT(shown({}, {kGood, kFlagged}), Not(HasSubstr("Torch.exp.0")));
  EXPECT_EQ(status_, kPassed);
  documented::VerdictOptions verdict;
  verdict.fail_on_name = "error";
  EXPECT_THAT(shown({}, {kGood, kFlagged}, verdict),
              AllOf(HasSubstr("Torch.exp.0"), HasSubstr("--fail-on error")));
  EXPECT_EQ(status_, kFailed);
}

TEST_F(CheckOutputTest, VerboseAddsFlaggedCallsAndTheCounts) {
  ShownOptions verbose;
  verbose.verbose = true;
  EXPECT_THAT(shown(verbose, {kGood, kFlagged}),
              AllOf(HasSubstr("Torch.exp.0"), HasSubstr("recorded 2, checked 2")));
}

TEST_F(CheckOutputTest, JsonOnStandardOutputIsAlone) {
  ShownOptions json;
  json.json = "true";
  const std::string text = shown(json, {kWrong});
  EXPECT_EQ(text.front(), '{');
  EXPECT_THAT(text, AllOf(HasSubstr("\"Torch.mm.0\""), Not(HasSubstr("FAIL "))));
}

TEST_F(CheckOutputTest, TheCpuBesideItselfIsSaidOnce) {
  testing::internal::CaptureStdout();
  CheckOutput output({}, {});
  check::CheckOptions options;
  output.watch(options);
  options.compares_cpu_with_itself();
  options.compares_cpu_with_itself();
  const std::string text = testing::internal::GetCapturedStdout();
  const std::size_t first = text.find("no accelerator found");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("no accelerator found", first + 1), std::string::npos);
}

TEST_F(CheckOutputTest, TheWorstOfSeveralDecides) {
  testing::internal::CaptureStdout();
  CheckOutput output({}, {});
  output.expect_several(scratch_.path());
  for (const auto& [title, call] : {std::pair("step0", kWrong), std::pair("step1", kGood)}) {
    check::CheckOptions options;
    options.dump = scratch_.path() / "dump.json";
    output.watch(options, title);
    options.judged(call);
    output.end(outcome_of({call}));
  }
  EXPECT_EQ(output.close(), kFailed);
  EXPECT_THAT(
      testing::internal::GetCapturedStdout(),
      AllOf(HasSubstr("step0, sim:0"), HasSubstr("step1, sim:0"), HasSubstr("1 of 2 dumps OK")));
}

TEST_F(CheckOutputTest, WhatIsWrongInSeveralDumpsIsShownOnce) {
  testing::internal::CaptureStdout();
  CheckOutput output({}, {});
  output.expect_several(scratch_.path());
  for (const char* title : {"step0", "step1", "step2"}) {
    check::CheckOptions options;
    options.dump = scratch_.path() / "dump.json";
    output.watch(options, title);
    options.judged(kWrong);
    output.end(outcome_of({kWrong}));
  }
  EXPECT_EQ(output.close(), kFailed);
  const std::string text = testing::internal::GetCapturedStdout();
  const std::size_t first = text.find("FAIL Torch.mm.0");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("FAIL Torch.mm.0", first + 1), std::string::npos) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("step2, sim:0: the same calls and causes as in step0;"),
                          HasSubstr("3 calls, in 3 of 3 dumps"), HasSubstr("0 of 3 dumps OK"),
                          HasSubstr("all 3 dumps, sim:0: 1 API wrong (mm 3 of 3); 3 of 3 calls")));
}

TEST_F(CheckOutputTest, ADumpThatCannotBeCheckedEndsWithTwo) {
  CheckOutput output({}, {});
  output.cannot({ErrorKind::kFormat, "not a dump"});
  EXPECT_EQ(output.close(), kCannot);
}

TEST_F(CheckOutputTest, AnInterruptedCheckHasNoAnswer) {
  testing::internal::CaptureStdout();
  CheckOutput output({}, {});
  check::CheckOptions options;
  output.watch(options);
  options.judged(kWrong);
  check::CheckOutcome outcome = outcome_of({kWrong});
  outcome.interrupted = true;
  output.end(outcome);
  (void)output.close();
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              AllOf(HasSubstr("FAIL Torch.mm.0"), Not(HasSubstr("1 call checked"))));
}

}  // namespace
}  // namespace msprobe::app
