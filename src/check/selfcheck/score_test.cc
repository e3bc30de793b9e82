// SPDX-License-Identifier: Apache-2.0
#include "selfcheck/score.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::selfcheck {
namespace {

const Pass kForward{"Torch.add.0", false};
const Pass kBackward{"Torch.add.0", true};

Said said(std::string leaf, Verdict documented, Verdict strict, std::string cause = "") {
  return {std::move(leaf),  documented, strict,          "reason",
          std::move(cause), 512,        "torch.float32", {}};
}

Evidence exact() {
  Evidence evidence;
  evidence.log.results[kForward] = {{"0", "aa"}};
  evidence.log.results[kBackward] = {{"0", "bb"}, {"1", "cc"}};
  evidence.details[kForward] = {said("0", Verdict::kPass, Verdict::kPass)};
  evidence.details[kBackward] = {said("0", Verdict::kPass, Verdict::kPass),
                                 said("1", Verdict::kPass, Verdict::kPass)};
  return evidence;
}

const Scenario kFault{.name = "times_two",
                      .group = "fault",
                      .profile = "exact",
                      .rules = "",
                      .promise = Promise::kAlarm,
                      .cause = sim::CauseClass::kScale};

TEST(Score, CountsOnlyWhatTheDeviceReallyChanged) {
  Evidence evidence = exact();
  evidence.log.results[kForward]["0"] = "changed";
  evidence.log.faults[kForward] = "times_two";
  evidence.log.faults[kBackward] = "times_two";  // put in, but nothing came of it
  evidence.details[kForward] = {
      said("0", Verdict::kPass, Verdict::kError, "wrong scale: 2 times the benchmark")};
  evidence.compared[kForward] = Verdict::kError;
  const Score found = score(kFault, evidence, exact());
  EXPECT_EQ(found.injections, 1U);
  EXPECT_EQ(found.documented, 0U);
  EXPECT_EQ(found.compared, 1U);
  EXPECT_EQ(found.strict, 1U);
  EXPECT_EQ(found.graded, 1U);
  EXPECT_EQ(found.right, 1U);
  EXPECT_EQ(found.rows, 2U);
  EXPECT_TRUE(found.as_promised());
}

TEST(Score, WhatEscapesIsNamed) {
  Evidence evidence = exact();
  evidence.log.results[kBackward]["1"] = "changed";
  const Score found = score(kFault, evidence, exact());
  EXPECT_EQ(found.injections, 1U);
  EXPECT_EQ(found.strict, 0U);
  ASSERT_EQ(found.escapes.size(), 1U);
  EXPECT_EQ(found.escapes[0].row, "Torch.add.0.backward.output.1");
  EXPECT_FALSE(found.as_promised());
}

TEST(Score, AnAlarmWhereNothingWasChangedBreaksThePromise) {
  Evidence evidence = exact();
  evidence.details[kForward][0].strict = Verdict::kWarning;
  Scenario silent = kFault;
  silent.promise = Promise::kSilence;
  const Score found = score(silent, evidence, exact());
  EXPECT_EQ(found.alarms, 1U);
  EXPECT_FALSE(found.as_promised());
}

TEST(Score, WhatTheRoundingOfAHalfTypeHidesDoesNotCount) {
  Scenario lost = kFault;
  lost.may_hide = true;
  Evidence evidence = exact();
  evidence.log.results[kForward]["0"] = "changed";
  Said& row = evidence.details[kForward][0];
  row.units = 1;
  EXPECT_EQ(score(lost, evidence, exact()).injections, 1U);
  row.dtype = "torch.bfloat16";
  EXPECT_EQ(score(lost, evidence, exact()).injections, 0U);
  row.units = 2;
  EXPECT_EQ(score(lost, evidence, exact()).injections, 1U);
}

TEST(Score, LostCallsAreCaughtWhenTheyAreReported) {
  Scenario crash = kFault;
  crash.cause = sim::CauseClass::kLostCall;
  Evidence evidence;
  evidence.log.faults[kForward] = "crash";
  EXPECT_FALSE(score(crash, evidence, exact()).as_promised());
  evidence.lost = {"Torch.add.0"};
  EXPECT_TRUE(score(crash, evidence, exact()).as_promised());
}

TEST(ClassOf, EveryCauseHasOne) {
  EXPECT_EQ(class_of("lost tail: the last 8 of 64 elements"), "lost or moved data");
  EXPECT_EQ(class_of("bad tile: (0..15, 0..15); gradient only"), "lost or moved data");
  EXPECT_EQ(class_of("TF32 inputs: with inputs kept to 10 bits"), "rounding");
  EXPECT_EQ(class_of("NaN or Inf: one element, (1, 3), is NaN"), "special values");
  EXPECT_EQ(class_of(""), "none");
}

TEST(NamesOtherSums, IsAWrongTypeAndNotAnUnknownOne) {
  const auto cause = [](const char* type) {
    return fmt::format("low-precision accumulation: sums kept in {} leave 0.1 of the error", type);
  };
  EXPECT_TRUE(names_other_sums(cause("torch.float16"), "torch.bfloat16"));
  EXPECT_FALSE(names_other_sums(cause("torch.bfloat16"), "torch.bfloat16"));
  EXPECT_FALSE(names_other_sums(cause("a half type"), "torch.bfloat16"));
  EXPECT_FALSE(names_other_sums("TF32 inputs: with inputs kept to 10 bits", "torch.float16"));
  EXPECT_FALSE(names_other_sums(cause("torch.float16"), ""));
}

}  // namespace
}  // namespace msprobe::selfcheck
