// SPDX-License-Identifier: Apache-2.0
#include "check/judged_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/coverage.h"

namespace msprobe::check {
namespace {

using documented::Profile;
using protocol::LeafKind;
using protocol::MeasuredCall;
using protocol::MeasuredLeaf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const JudgeRules kDocumented{.profile = Profile::kDocumented,
                             .standards = {},
                             .device_kind = "cpu",
                             .rerun = CallCommand("acc_check").add("-api_info", "d/dump.json")};
const JudgeRules kReference{.profile = Profile::kReference,
                            .standards = {},
                            .device_kind = "cpu",
                            .rerun = CallCommand("acc_check").add("-api_info", "d/dump.json")};

MeasuredLeaf value(const std::string& path, std::int64_t bench, std::int64_t device) {
  MeasuredLeaf leaf;
  leaf.path = path;
  leaf.kind = LeafKind::kValue;
  leaf.bench.value = bench;
  leaf.device.value = device;
  return leaf;
}

MeasuredLeaf kind(const std::string& path, LeafKind kind) {
  MeasuredLeaf leaf;
  leaf.path = path;
  leaf.kind = kind;
  return leaf;
}

MeasuredLeaf floats(std::uint64_t count, double max_abs_error) {
  MeasuredLeaf leaf = kind("0", LeafKind::kTensor);
  leaf.bench.dtype = DType::kFloat64;
  leaf.device.dtype = DType::kFloat32;
  leaf.bench.shape = leaf.device.shape = {static_cast<std::int64_t>(count)};
  leaf.metrics.count = count;
  leaf.metrics.device_abs_max = leaf.metrics.bench_abs_max = 1;
  leaf.metrics.cosine = 1;
  leaf.metrics.max_abs_error = max_abs_error;
  return leaf;
}

std::vector<std::string> rows(const JudgedCall& call) {
  std::vector<std::string> shown;
  for (const documented::DetailRow& row : call.details) {
    shown.push_back(row.api_name + " " + std::string(name(row.status)));
  }
  return shown;
}

TEST(JudgedCall, SkippedCallHasOneBlankRow) {
  MeasuredCall call;
  call.skip = {SkipReason::kNoBench, "There is not bench function foo"};
  const JudgedCall judged = judge_call(call, ops::NamedCall("NPU.foo.0"), kDocumented);
  EXPECT_THAT(rows(judged), ElementsAre("NPU.foo.0.forward.output.0 SKIP"));
  EXPECT_EQ(judged.details[0].message, "There is not bench function foo");
  EXPECT_EQ(judged.details[0].bench_dtype, " ");
  EXPECT_TRUE(judged.details[0].cosine.blank());
  EXPECT_EQ(judged.result.forward, Verdict::kSkip);
  EXPECT_EQ(judged.result.backward, Verdict::kSkip);
  EXPECT_EQ(judged.result.message, "There is not bench function foo");
  EXPECT_EQ(judged.details[0].skip, SkipReason::kNoBench);
  EXPECT_EQ(judged.result.skip, SkipReason::kNoBench);
}

TEST(JudgedCall, RowsAreNumberedPerDirectionAndFailingOnesCanBeRunAgain) {
  MeasuredCall call;
  call.forward = {value("0", 1, 1), value("1.0", 1, 1), value("1.1", 1, 2)};
  call.backward = {kind("0", LeafKind::kNone), floats(4, 1e-9)};
  const JudgedCall judged = judge_call(call, ops::NamedCall("Torch.x.0"), kDocumented);
  EXPECT_THAT(rows(judged),
              ElementsAre("Torch.x.0.forward.output.0 pass", "Torch.x.0.forward.output.1 pass",
                          "Torch.x.0.forward.output.2 error", "Torch.x.0.backward.output.0 SKIP",
                          "Torch.x.0.backward.output.1 pass"));
  EXPECT_EQ(judged.details[0].rerun_command, "");
  EXPECT_EQ(judged.details[2].rerun_command,
            "msprobe acc_check -api_info d/dump.json --only Torch.x.0");
  EXPECT_EQ(judged.result.forward, Verdict::kError);
  EXPECT_EQ(judged.result.backward, Verdict::kPass);
}

TEST(JudgedCall, NoBackwardIsBlankASkippedOneSaysWhy) {
  MeasuredCall call;
  call.forward = {value("0", 1, 1)};
  EXPECT_FALSE(judge_call(call, ops::NamedCall("Torch.x.0"), kDocumented).result.backward);
  call.backward_skip = {SkipReason::kOutArgument,
                        "function with out=... arguments don't support automatic differentiation, "
                        "skip backward."};
  const JudgedCall judged = judge_call(call, ops::NamedCall("Torch.x.0"), kDocumented);
  EXPECT_EQ(judged.result.backward, Verdict::kSkip);
  EXPECT_THAT(judged.result.message, EndsWith("skip backward."));
  EXPECT_EQ(judged.result.skip, SkipReason::kOutArgument);
  EXPECT_THAT(rows(judged),
              ElementsAre("Torch.x.0.forward.output.0 pass", "Torch.x.0.backward.output.0 SKIP"));
}

TEST(JudgedCall, WarningAndPassAreAWarningWithAnErrorAnError) {
  MeasuredLeaf warned = floats(4, 0.01);
  warned.metrics.within_100 = warned.metrics.within_1000 = 4;
  warned.metrics.within_10000 = 2;
  MeasuredCall call;
  call.forward = {floats(4, 1e-9), warned};
  call.backward = {floats(4, 1e-9)};
  const JudgedCall judged = judge_call(call, ops::NamedCall("Torch.x.0"), kDocumented);
  EXPECT_THAT(rows(judged),
              ElementsAre("Torch.x.0.forward.output.0 pass", "Torch.x.0.forward.output.1 warning",
                          "Torch.x.0.backward.output.0 pass"));
  EXPECT_EQ(judged.result.forward, Verdict::kWarning);
  EXPECT_EQ(judged.result.backward, Verdict::kPass);
  call.forward.push_back(value("2", 1, 2));
  EXPECT_EQ(judge_call(call, ops::NamedCall("Torch.x.0"), kDocumented).result.forward,
            Verdict::kError);
}

TEST(JudgedCall, VerdictStandsBesideTheDocumentedOne) {
  MeasuredCall call;
  call.forward = {value("0", 1, 1), value("1", 1, 1)};
  call.forward[0].strict = {Verdict::kPass, "equal", ""};
  call.forward[1].strict = {Verdict::kError, "1 of 8 elements", "lost tail"};
  call.backward_skip = {SkipReason::kOutArgument, "out"};
  const JudgedCall judged = judge_call(call, ops::NamedCall("Torch.x.0"), kDocumented);
  EXPECT_EQ(judged.details[0].strict_status, Verdict::kPass);
  EXPECT_EQ(judged.details[0].rerun_command, "");
  EXPECT_EQ(judged.details[1].status, Verdict::kPass);
  EXPECT_EQ(judged.details[1].strict_status, Verdict::kError);
  EXPECT_EQ(judged.details[1].strict_reason, "1 of 8 elements");
  EXPECT_EQ(judged.details[1].likely_cause, "lost tail");
  EXPECT_THAT(judged.details[1].rerun_command, EndsWith("--only Torch.x.0"));
  EXPECT_EQ(judged.details[2].strict_status, Verdict::kSkip);
  EXPECT_EQ(judged.result.strict, Verdict::kError);
  EXPECT_FALSE(judge_call(call, ops::NamedCall("Torch.x.0"), kReference).result.strict);
}

TEST(JudgedCall, NotesStandInTheFirstRowOfTheirDirection) {
  MeasuredCall call;
  call.forward = {value("0", 1, 1), value("1", 1, 1)};
  call.backward = {floats(4, 1e-9)};
  call.note = "keep_prob was replaced";
  call.backward_note = "another order";
  const JudgedCall judged = judge_call(call, ops::NamedCall("Torch.x.0"), kDocumented);
  EXPECT_THAT(judged.details[0].message, EndsWith("keep_prob was replaced"));
  EXPECT_THAT(judged.details[1].message, testing::Not(HasSubstr("keep_prob")));
  EXPECT_THAT(judged.details[2].message, EndsWith("another order"));
  EXPECT_EQ(judged.result.forward, Verdict::kPass);
}

TEST(JudgedCall, StructureThatDiffersIsAnError) {
  MeasuredCall call;
  call.forward = {kind("0", LeafKind::kTypesDiffer), kind("1", LeafKind::kKeysDiffer),
                  kind("2", LeafKind::kDeviceMissing)};
  MeasuredLeaf shapes = floats(4, 0);
  shapes.kind = LeafKind::kShapesDiffer;
  shapes.device.shape = {3};
  call.forward.push_back(shapes);
  const JudgedCall judged = judge_call(call, ops::NamedCall("Torch.x.0"), kDocumented);
  std::vector<std::string> messages;
  for (const auto& row : judged.details) messages.push_back(row.message);
  EXPECT_THAT(messages, ElementsAre("bench and npu output type is different.",
                                    "bench and npu output dict keys are different.",
                                    "bench and npu output structure is different.",
                                    HasSubstr("torch.Size([4]) and nputorch.Size([3]) not equal")));
}

TEST(JudgedCall, ThePublicToolLooksAtLess) {
  MeasuredCall call;
  call.forward = {value("0", 1, 1), value("1.0", 1, 1), value("1.1", 1, 1), value("2", 3, 3)};
  call.backward = {value("0", 1, 1), value("1", 1, 1)};
  call.backward[1].of_keyword = true;
  const JudgedCall judged = judge_call(call, ops::NamedCall("Torch.x.0"), kReference);
  EXPECT_THAT(rows(judged),
              ElementsAre("Torch.x.0.forward.output.0 pass", "Torch.x.0.forward.output.1 error",
                          "Torch.x.0.forward.output.2 pass", "Torch.x.0.backward.output.0 pass"));
  EXPECT_EQ(judged.details[1].message, "Unexpected output type in compare_core: <class 'list'>");
  EXPECT_EQ(judged.details[1].rerun_command, "");
  call.forward.push_back(kind("3", LeafKind::kDeviceMissing));
  EXPECT_EQ(judge_call(call, ops::NamedCall("Torch.x.0"), kReference).result.message,
            "list index out of range");
}

TEST(JudgedCall, DropoutIsJudgedByItsZeros) {
  MeasuredCall call;
  MeasuredLeaf leaf = floats(1000, 3.0);
  leaf.dropout = {.bench_zeros = 490, .device_zeros = 520, .probability = 0.5};
  call.forward = {leaf};
  const JudgedCall judged = judge_call(call, ops::NamedCall("Functional.dropout.0"), kDocumented);
  EXPECT_THAT(rows(judged), ElementsAre("Functional.dropout.0.forward.output.0 pass"));
  EXPECT_TRUE(judged.details[0].cosine.blank());

  call.forward[0].dropout->device_zeros = 800;
  EXPECT_EQ(judge_call(call, ops::NamedCall("Functional.dropout.0"), kDocumented).result.forward,
            Verdict::kError);
  // Half of the input was zero already, which the bench shows too.
  call.forward[0].dropout = {.bench_zeros = 750, .device_zeros = 745, .probability = 0.5};
  EXPECT_EQ(judge_call(call, ops::NamedCall("Functional.dropout.0"), kDocumented).result.forward,
            Verdict::kPass);
  // Nothing is dropped: compared as any other output.
  call.forward[0].dropout = {.bench_zeros = 0, .device_zeros = 0, .probability = 0.0};
  EXPECT_NE(judge_call(call, ops::NamedCall("Functional.dropout.0"), kDocumented).result.forward,
            Verdict::kPass);
}

TEST(JudgedCall, ThePublicToolWritesNoDetailsOfADropout) {
  MeasuredCall call;
  MeasuredLeaf leaf = floats(1000, 3.0);
  leaf.dropout = {.bench_zeros = 490, .device_zeros = 520, .probability = 0.5};
  call.forward = {leaf};
  const JudgedCall judged = judge_call(call, ops::NamedCall("Functional.dropout.0"), kReference);
  EXPECT_THAT(judged.details, IsEmpty());
  EXPECT_EQ(judged.result.forward, Verdict::kPass);
  EXPECT_TRUE(pytorch_dialect().has_no_details(ops::NamedCall("Functional.dropout.0"),
                                               Profile::kReference));
  EXPECT_FALSE(pytorch_dialect().has_no_details(ops::NamedCall("Functional.dropout.0"),
                                                Profile::kDocumented));
}

TEST(Coverage, CountsByTheWorseDirectionAndByReason) {
  Coverage coverage{.recorded = 9};
  const auto add = [&](std::optional<Verdict> forward, std::optional<Verdict> backward,
                       SkipReason skip = SkipReason::kNone) {
    coverage.add(
        {.api_name = "x", .forward = forward, .backward = backward, .message = {}, .skip = skip});
  };
  add(Verdict::kPass, std::nullopt);
  add(Verdict::kPass, Verdict::kSkip, SkipReason::kOutArgument);
  add(Verdict::kWarning, Verdict::kPass);
  EXPECT_EQ(status_of(coverage, FailOn::kError), CheckStatus::kPassed);
  EXPECT_EQ(status_of(coverage, FailOn::kWarning), CheckStatus::kFailed);
  add(Verdict::kPass, Verdict::kError);
  add(Verdict::kSkip, Verdict::kSkip, SkipReason::kFiltered);
  add(Verdict::kSkip, std::nullopt);
  add(Verdict::kSkip, Verdict::kSkip, SkipReason::kCrashed);
  add(Verdict::kPass, Verdict::kSkip, SkipReason::kMissingData);
  coverage.repeats = 1;
  EXPECT_EQ(coverage_line(coverage),
            "recorded 9, checked 5 (passed 3, warned 1, failed 1), skipped 3: crashed 1, filtered "
            "1, nothing_to_compare 1; repeats left out by -f 1");
  EXPECT_EQ(coverage.lost, 2U);
  EXPECT_EQ(status_of(coverage, FailOn::kError), CheckStatus::kFailed);
}

TEST(Coverage, StrictCountsByTheWorstRowOfACall) {
  Coverage coverage{.recorded = 3};
  const auto add = [&](std::optional<Verdict> strict) {
    coverage.add({"x", Verdict::kPass, std::nullopt, "", strict});
  };
  add(Verdict::kPass);
  EXPECT_EQ(status_of(coverage, FailOn::kStrict), CheckStatus::kPassed);
  add(Verdict::kWarning);
  add(Verdict::kError);
  EXPECT_EQ(coverage_line(coverage),
            "recorded 3, checked 3 (passed 3, warned 0, failed 0), skipped 0; strict: passed 1, "
            "warned 1, failed 1");
  EXPECT_EQ(status_of(coverage, FailOn::kStrict), CheckStatus::kFailed);
  EXPECT_EQ(status_of(coverage, FailOn::kWarning), CheckStatus::kPassed);
}

TEST(Coverage, CallsThatOnlyTheStrictStatusJudgesAreSaid) {
  Coverage coverage{.recorded = 2};
  coverage.add({"x", Verdict::kPass, std::nullopt, "", Verdict::kPass});
  coverage.add({"y", Verdict::kSkip, Verdict::kSkip, "", Verdict::kPass});
  EXPECT_EQ(
      coverage_line(coverage),
      "recorded 2, checked 1 (passed 1, warned 0, failed 0), skipped 1: nothing_to_compare 1; "
      "strict: passed 2, warned 0, failed 0 (1 of them skipped by the documented rules)");
}

TEST(Coverage, FailOnStrictCountsTheVerdictAlone) {
  Coverage coverage{.recorded = 1};
  coverage.add({"x", Verdict::kError, std::nullopt, "", Verdict::kPass});
  EXPECT_EQ(status_of(coverage, FailOn::kError), CheckStatus::kFailed);
  EXPECT_EQ(status_of(coverage, FailOn::kStrict), CheckStatus::kPassed);
  coverage.add({"x", Verdict::kSkip, Verdict::kSkip, "", Verdict::kSkip, SkipReason::kTimedOut});
  EXPECT_EQ(status_of(coverage, FailOn::kStrict), CheckStatus::kFailed);  // a lost call counts
}

TEST(Coverage, WhatDoesNotRunIsCountedApartAndAlwaysFails) {
  Coverage coverage{.recorded = 3};
  coverage.add({"x", Verdict::kPass, std::nullopt, "", Verdict::kPass});
  coverage.add(
      {"y", Verdict::kSkip, Verdict::kSkip, "", Verdict::kSkip, SkipReason::kDeviceFailed});
  coverage.add(
      {"z", Verdict::kPass, Verdict::kSkip, "", Verdict::kPass, SkipReason::kDeviceFailed});
  EXPECT_EQ(coverage_line(coverage),
            "recorded 3, checked 1 (passed 1, warned 0, failed 0), raised 2, skipped 0; strict: "
            "passed 1, warned 0, failed 0");
  EXPECT_EQ(status_of(coverage, FailOn::kStrict), CheckStatus::kFailed);
  EXPECT_EQ(status_of(coverage, FailOn::kError), CheckStatus::kFailed);
}

TEST(Coverage, APassThatProvesLittleFailsOnlyIfAskedFor) {
  Coverage coverage{.recorded = 1};
  coverage.add({"x", Verdict::kPass, std::nullopt, "", Verdict::kInconclusive});
  EXPECT_EQ(coverage_line(coverage),
            "recorded 1, checked 1 (passed 1, warned 0, failed 0), skipped 0; strict: passed 0, "
            "inconclusive 1, warned 0, failed 0");
  EXPECT_EQ(status_of(coverage, FailOn::kStrict), CheckStatus::kPassed);
  EXPECT_EQ(status_of(coverage, FailOn::kInconclusive), CheckStatus::kFailed);
  EXPECT_EQ(status_of(coverage, FailOn::kWarning), CheckStatus::kPassed);
}

TEST(Coverage, WithoutAStrictStatusDocumentedErrorsDecide) {
  Coverage coverage{.recorded = 2};
  coverage.add({"x", Verdict::kWarning, std::nullopt, ""});
  EXPECT_EQ(status_of(coverage, FailOn::kStrict), CheckStatus::kPassed);
  coverage.add({"x", Verdict::kError, std::nullopt, ""});
  EXPECT_EQ(status_of(coverage, FailOn::kStrict), CheckStatus::kFailed);
}

TEST(Coverage, NothingCheckedIsNotSuccessAndALostCallIsAFailure) {
  Coverage coverage;
  EXPECT_EQ(status_of(coverage, FailOn::kError), CheckStatus::kNothingChecked);
  coverage.add({.api_name = "x",
                .forward = Verdict::kSkip,
                .backward = Verdict::kSkip,
                .message = {},
                .skip = SkipReason::kNotSupported});
  EXPECT_EQ(status_of(coverage, FailOn::kError), CheckStatus::kNothingChecked);
  coverage.add({.api_name = "x",
                .forward = Verdict::kSkip,
                .backward = Verdict::kSkip,
                .message = {},
                .skip = SkipReason::kTimedOut});
  EXPECT_EQ(status_of(coverage, FailOn::kError), CheckStatus::kFailed);
}

}  // namespace
}  // namespace msprobe::check
