// SPDX-License-Identifier: Apache-2.0
#include "report/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/changes_text.h"

namespace msprobe::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ReportRun run_of(std::vector<std::pair<std::string, Verdict>> calls) {
  ReportRun run;
  for (auto& [name, verdict] : calls) {
    ReportCall& call = run.calls.emplace_back();
    call.name = std::move(name);
    call.forward = verdict;
    call.strict = verdict == Verdict::kWarning ? Verdict::kError : Verdict::kPass;
    if (verdict == Verdict::kSkip) call.strict.reset();
  }
  return run;
}

TEST(Changes, NewFixedAndStill) {
  const ReportRun older = run_of({{"a", Verdict::kError},
                                  {"b", Verdict::kError},
                                  {"c", Verdict::kPass},
                                  {"d", Verdict::kError},
                                  {"e", Verdict::kSkip},
                                  {"g", Verdict::kError}});
  ReportRun newer = run_of({{"c", Verdict::kError},
                            {"a", Verdict::kPass},
                            {"b", Verdict::kError},
                            {"d", Verdict::kSkip},
                            {"e", Verdict::kError},
                            {"f", Verdict::kError},
                            {"w", Verdict::kWarning}});
  const Changes changes = changes_between(older, newer, FailOn::kError);
  EXPECT_THAT(changes.appeared, ElementsAre(0, 4, 5));
  EXPECT_THAT(changes.fixed, ElementsAre(1));
  EXPECT_THAT(changes.still, ElementsAre(2));
  EXPECT_EQ(changes.in_both, 5U);
  EXPECT_EQ(changes.only_old, 1U);
  EXPECT_EQ(changes.gone, 1U);
  EXPECT_EQ(changes.only_new, 2U);
  EXPECT_THAT(changes_between(older, newer, FailOn::kWarning).appeared, ElementsAre(0, 4, 5, 6));
  EXPECT_THAT(changes_between(older, newer, FailOn::kStrict).appeared, ElementsAre(6));
}

TEST(Changes, OfWhatIsFixedTheOldCauseIsShown) {
  ReportRun older = run_of({{"a", Verdict::kWarning}});
  older.calls[0].row_count = 1;
  older.rows.emplace_back().likely_cause = "bad tile";
  older.rows[0].strict = Verdict::kError;
  older.rows[0].error_over_bound = 12;
  const ReportRun newer = run_of({{"a", Verdict::kPass}});
  const Changes changes = changes_between(older, newer, FailOn::kStrict);
  EXPECT_THAT(changed_calls_text(older, newer, changes),
              AllOf(HasSubstr("Fixed (1)"), HasSubstr("12 x bound  bad tile")));
}

TEST(Changes, ALostCallFails) {
  ReportRun newer = run_of({{"a", Verdict::kSkip}});
  newer.calls[0].skip = SkipReason::kCrashed;
  EXPECT_THAT(changes_between(run_of({{"a", Verdict::kPass}}), newer, FailOn::kStrict).appeared,
              ElementsAre(0));
}

TEST(Changes, ACallThatDoesNotRunFails) {
  ReportRun newer = run_of({{"a", Verdict::kSkip}, {"b", Verdict::kPass}});
  newer.calls[0].skip = SkipReason::kDeviceFailed;
  newer.calls[1].strict = Verdict::kInconclusive;
  const ReportRun older = run_of({{"a", Verdict::kPass}, {"b", Verdict::kPass}});
  for (const FailOn fail_on : {FailOn::kStrict, FailOn::kError}) {
    EXPECT_THAT(changes_between(older, newer, fail_on).appeared, ElementsAre(0));
  }
  EXPECT_THAT(changes_between(older, newer, FailOn::kInconclusive).appeared, ElementsAre(0, 1));
}

TEST(Changes, WithoutAStrictStatusDocumentedErrorsCount) {
  ReportRun newer = run_of({{"a", Verdict::kError}, {"b", Verdict::kWarning}});
  for (ReportCall& call : newer.calls) call.strict.reset();
  const ReportRun older = run_of({{"a", Verdict::kPass}, {"b", Verdict::kPass}});
  EXPECT_THAT(changes_between(older, newer, FailOn::kStrict).appeared, ElementsAre(0));
}

TEST(Changes, AreListedForAPersonAndForAProgram) {
  const ReportRun older = run_of({{"a", Verdict::kError}, {"b", Verdict::kPass}});
  const ReportRun newer = run_of({{"a", Verdict::kPass}, {"b", Verdict::kError}});
  const Changes changes = changes_between(older, newer, FailOn::kError);
  const std::string text = changes_text(older, newer, changes);
  EXPECT_THAT(text, StartsWith("New failures (1)"));
  EXPECT_THAT(text, HasSubstr("Fixed (1)"));
  EXPECT_THAT(text, Not(HasSubstr("Still failing (")));
  EXPECT_THAT(text,
              EndsWith("1 new, 1 fixed, 0 still failing; 2 calls in both, 0 only in the old, 0 "
                       "only in the new\n"));
  EXPECT_THAT(changes_json(older, newer, changes), HasSubstr(R"("call": "b")"));
}

}  // namespace
}  // namespace msprobe::report
