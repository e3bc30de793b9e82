// SPDX-License-Identifier: Apache-2.0
#include "documented/result_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documented/judge.h"
#include "documented/profiles_for_test.h"

namespace msprobe::documented {
namespace {

using Verdicts = std::vector<Verdict>;

// The two profiles fold the verdicts of several outputs differently.
TEST(Fold, DocumentedTakesTheWorstAndReferenceTheLast) {
  const Verdicts error_warning = {Verdict::kError, Verdict::kWarning};
  EXPECT_EQ(fold(error_warning, kDocumented), Verdict::kError);
  EXPECT_EQ(fold(error_warning, kReference), Verdict::kWarning);
  const Verdicts skips = {Verdict::kSkip, Verdict::kSkip};
  EXPECT_EQ(fold(skips, kDocumented), Verdict::kSkip);
  EXPECT_EQ(fold(skips, kReference), Verdict::kPass);
  const Verdicts pass_skip = {Verdict::kPass, Verdict::kSkip};
  EXPECT_EQ(fold(pass_skip, kDocumented), Verdict::kPass);
  EXPECT_EQ(fold(pass_skip, kReference), Verdict::kPass);
  EXPECT_EQ(fold({}, kDocumented), std::nullopt);
}

// The row of a skipped call.
TEST(SkippedCall, HasOneRowAndSkipInBothColumns) {
  const SkippedCall call = skipped_call("NPU.foo.0", {SkipReason::kBind, "because"});
  EXPECT_EQ(call.detail.api_name, "NPU.foo.0.forward.output.0");
  EXPECT_EQ(call.detail.status, Verdict::kSkip);
  EXPECT_EQ(call.detail.message, "because");
  EXPECT_EQ(call.detail.shape, " ");
  EXPECT_EQ(call.result.forward, Verdict::kSkip);
  EXPECT_EQ(call.result.backward, Verdict::kSkip);
  EXPECT_EQ(call.result.message, "because");
}

TEST(Conclude, MessageIsThatOfTheFirstSkippedRow) {
  const std::vector<DetailRow> pass = {reason_row("f.forward.output.0", Verdict::kPass, "fine")};
  const std::vector<DetailRow> skip = {reason_row("f.forward.output.0", Verdict::kSkip, "one"),
                                       reason_row("f.forward.output.1", Verdict::kSkip, "two")};
  EXPECT_EQ(conclude("f", skip, {}, kDocumented).message, "one");
  EXPECT_EQ(conclude("f", pass, skip, kDocumented).message, "one");
  EXPECT_EQ(conclude("f", pass, {}, kDocumented).message, "");
  EXPECT_EQ(conclude("f", pass, {}, kDocumented).backward, std::nullopt);
  EXPECT_EQ(conclude("f", pass, skip, kReference).backward, Verdict::kPass);
  EXPECT_EQ(conclude("f", pass, skip, kReference, true).backward, Verdict::kSkip);
}

// "The Message field provides the reason": of a failure too, on one line.
TEST(Conclude, AFailureNamesItsOutputAndItsRule) {
  const std::vector<DetailRow> forward = {
      reason_row("f.forward.output.0", Verdict::kPass, "fine"),
      reason_row("f.forward.output.1", Verdict::kError, "bad.")};
  const std::vector<DetailRow> backward = {
      reason_row("f.backward.output.0", Verdict::kWarning, "doubtful.")};
  EXPECT_EQ(conclude("f", forward, backward, kDocumented).message,
            "forward output 1: bad. backward output 0: doubtful.");
  EXPECT_EQ(conclude("f", forward, backward, kReference).message, "");
  const std::vector<DetailRow> many(5, forward[1]);
  EXPECT_EQ(conclude("f", many, {}, kDocumented).message,
            "forward output 0: bad. forward output 1: bad. forward output 2: bad. 2 more outputs "
            "fail.");
  const std::vector<DetailRow> skip = {
      skip_row("f.backward.output.0", {SkipReason::kMissingData, "missing_data: x."})};
  EXPECT_EQ(conclude("f", forward, skip, kDocumented).message,
            "missing_data: x. forward output 1: bad.");
}

}  // namespace
}  // namespace msprobe::documented
