#include "torchair_report.h"

#include <gtest/gtest.h>

namespace msprobe::app {
namespace {

torchair::Row row_of(std::string op, torchair::Side side, double relative_error) {
  torchair::Row row;
  row.op = std::move(op);
  row.type = "Mul";
  row.side = side;
  row.status = torchair::Status::kPaired;
  row.real.emplace();
  row.real->similarity.cosine = 1;
  row.real->similarity.max_relative_error = relative_error;
  const bool fails = relative_error > 0.01;
  row.verdict = fails ? torchair::Verdict::kFail : torchair::Verdict::kPass;
  row.differs = fails;
  return row;
}

TEST(TorchairReport, AnOperatorIsACallAndTheFirstDifferenceIsNamed) {
  TorchairReport report({});
  report.add(row_of("net/mul_1", torchair::Side::kInput, 0));
  report.add(row_of("net/mul_1", torchair::Side::kOutput, 0.5));
  report.add(row_of("net/mul_2", torchair::Side::kInput, 0.5));
  const report::ReportRun& run = report.run();
  ASSERT_EQ(run.calls.size(), 2U);
  EXPECT_EQ(run.calls[0].row_count, 2U);
  EXPECT_EQ(run.calls[0].forward, Verdict::kPass);
  EXPECT_EQ(run.calls[0].backward, Verdict::kError);
  EXPECT_FALSE(run.calls[1].backward);
  EXPECT_EQ(run.calls[0].api, "Mul");
  ASSERT_TRUE(run.first_difference);
  EXPECT_EQ(run.first_difference->call, 0U);
  EXPECT_EQ(run.limits[run.rows[1].limits][1].metric, "Maximum relative error");
  EXPECT_TRUE(in_first_direction(run, run.rows[0]));
  EXPECT_FALSE(in_first_direction(run, run.rows[1]));
}

}  // namespace
}  // namespace msprobe::app
