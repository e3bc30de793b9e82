// SPDX-License-Identifier: Apache-2.0
#include "strict/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strict/bound.h"
#include "strict/calls_for_test.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

using testing::HasSubstr;

std::vector<StrictFinding> explained(const RunCall& run) {
  execute::ExecuteOptions options = run.options;
  options.arguments.replay.explain = true;
  Findings findings = judge_call(run.record, options, run.outcome, {});
  std::vector<StrictFinding> all = std::move(findings.forward);
  for (StrictFinding& finding : findings.backward) all.push_back(std::move(finding));
  return all;
}

TEST(Explain, TermsAddUpToTheBoundOfTheVerdict) {
  std::vector<RunCall> runs;
  for (const DType dtype : libtorch::cpu_floats_with_wide_sums()) {
    runs.emplace_back(matmul(dtype));
    runs.emplace_back(
        with_backward(call("Functional.layer_norm.0", {{tensor({14, 64}, dtype, true)},
                                                       {dump::List{{std::int64_t{64}}}},
                                                       {tensor({64}, dtype, true)},
                                                       {tensor({64}, dtype, true)}}),
                      {{tensor({14, 64}, dtype)}}));
  }
  for (const RunCall& run : runs) {
    for (const StrictFinding& finding : explained(run)) {
      ASSERT_TRUE(finding.error_over_bound) << finding.reason;
      if (*finding.error_over_bound == 0) continue;
      EXPECT_THAT(finding.explanation,
                  HasSubstr("error over bound " + number_text(*finding.error_over_bound)))
          << finding.reason;
    }
  }
}

TEST(Explain, AnErrorShowsTheBoundThatWasExceeded) {
  RunCall run(matmul(DType::kFloat32));
  at::Tensor device = run.device().clone();
  device[7][5] = device[7][5] * 2;
  run.set_device(device);
  const StrictFinding finding = explained(run).front();
  EXPECT_EQ(finding.status, Verdict::kError);
  EXPECT_THAT(finding.explanation, HasSubstr("element (7, 5)"));
  EXPECT_THAT(finding.explanation, HasSubstr("sqrt(n) u_a 4 N"));
}

TEST(Explain, NothingIsExplainedUnasked) {
  EXPECT_EQ(RunCall(matmul(DType::kFloat32)).forward().explanation, "");
}

TEST(Explain, OfTheWorstElementEveryTermIsShown) {
  const at::Tensor bench = at::tensor({1.0, 2.0, 4.0}, at::kDouble);
  const at::Tensor device = at::tensor({1.0, 2.0, 4.5}, at::kFloat);
  Limits limits = rounding_limits(*float_type(at::kFloat));
  limits.spreads = at::full_like(bench, 0.25);
  limits.add(Of::kSpread, 3, "3 s");
  const Explained found = explain(device, bench, limits);
  EXPECT_EQ(found.place, 2);
  EXPECT_EQ(found.error, 0.5);
  ASSERT_EQ(found.terms.size(), 3U);
  EXPECT_EQ(found.terms[0].limit, 4 * 0x1p-23 * 4);
  EXPECT_EQ(found.terms[2].limit, 0.75);
  EXPECT_DOUBLE_EQ(found.bound, 0.75 + 16 * 0x1p-23 + 4 * 0x1p-149);
}

}  // namespace
}  // namespace msprobe::strict
