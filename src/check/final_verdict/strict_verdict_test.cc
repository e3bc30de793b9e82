// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/strict_verdict.h"

#include <gtest/gtest.h>

namespace msprobe::final_verdict {
namespace {

TEST(StrictVerdict, SaysWhomToBlame) {
  const auto said = [](std::optional<Verdict> device, std::optional<Verdict> reference,
                       bool documented_fails) {
    return name(strict_verdict(device, reference, documented_fails));
  };
  EXPECT_EQ(said(Verdict::kPass, Verdict::kPass, false), "pass");
  EXPECT_EQ(said(Verdict::kPass, Verdict::kError, false), "pass");
  EXPECT_EQ(said(Verdict::kPass, Verdict::kPass, true), "documented only");
  EXPECT_EQ(said(Verdict::kSkip, Verdict::kPass, true), "documented only");
  EXPECT_EQ(said(Verdict::kSkip, Verdict::kPass, false), "SKIP");
  for (const Verdict alarm : {Verdict::kWarning, Verdict::kError}) {
    EXPECT_EQ(said(alarm, Verdict::kPass, false), "device wrong");
    EXPECT_EQ(said(alarm, std::nullopt, true), "device wrong");
    EXPECT_EQ(said(alarm, Verdict::kError, true), "both wrong");
  }
  EXPECT_EQ(said(std::nullopt, Verdict::kError, true), "");
  EXPECT_EQ(said(Verdict::kInconclusive, Verdict::kPass, true), "inconclusive");
}

TEST(StrictVerdict, WhatDoesNotRunOrWasLostIsWrong) {
  EXPECT_EQ(name(with_skip(StrictVerdict::kSkip, SkipReason::kDeviceFailed)), "raised");
  EXPECT_EQ(name(with_skip(StrictVerdict::kNone, SkipReason::kCrashed)), "lost");
  EXPECT_EQ(name(with_skip(StrictVerdict::kSkip, SkipReason::kBenchFailed)), "SKIP");
  EXPECT_TRUE(is_wrong(StrictVerdict::kRaised));
  EXPECT_FALSE(is_wrong(StrictVerdict::kInconclusive));
}

}  // namespace
}  // namespace msprobe::final_verdict
