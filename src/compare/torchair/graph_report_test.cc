// SPDX-License-Identifier: Apache-2.0
#include "torchair/graph_report.h"

#include <gtest/gtest.h>

namespace msprobe::torchair {
namespace {

TensorRow row_of(std::string op, DumpSide side, double relative_error) {
  TensorRow row;
  row.op = std::move(op);
  row.type = "Mul";
  row.side = side;
  row.outcome = Outcome::kUndecided;
  row.real.emplace();
  row.real->similarity.cosine = 1;
  row.real->similarity.max_relative_error = relative_error;
  const bool fails = relative_error > 0.01;
  row.outcome = fails ? Outcome::kError : Outcome::kPass;
  row.differs = fails;
  return row;
}

OpRows op_of(std::vector<TensorRow> rows, std::vector<std::uint32_t> sources = {}) {
  return {.data = nullptr, .rows = std::move(rows), .sources = std::move(sources)};
}

constexpr auto kIn = DumpSide::kInput;
constexpr auto kOut = DumpSide::kOutput;

TEST(GraphReport, AnOperatorIsACallAndTheFirstDifferenceIsNamed) {
  GraphReport report({});
  report.add(op_of({row_of("net/mul_1", kIn, 0), row_of("net/mul_1", kOut, 0.5)}), 0);
  report.add(op_of({row_of("net/mul_2", kIn, 0.5)}, {0}), 1);
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

TEST(GraphReport, OperatorsIntroduceADifferenceOrInheritIt) {
  TensorRow unmatched = row_of("d", kIn, 0);
  unmatched.outcome = Outcome::kUnmatched;
  unmatched.real.reset();
  TensorRow unmatched_out = unmatched;
  unmatched_out.side = kOut;
  GraphReport report({});
  report.add(op_of({row_of("a", kIn, 0), row_of("a", kOut, 0)}), 0);
  report.add(op_of({}, {0}), 1);  // without rows: not a call
  report.add(op_of({row_of("b", kIn, 0), row_of("b", kOut, 0.5)}, {0, 1}), 2);
  report.add(op_of({row_of("c", kIn, 0.5), row_of("c", kOut, 0.4)}, {2}), 3);
  report.add(op_of({unmatched, unmatched_out}, {3}), 4);
  // Its own inputs were not compared; what comes out of the operators before decides.
  report.add(op_of({row_of("e", kOut, 0.4)}, {4}), 5);
  report.add(op_of({row_of("f", kOut, 0.4)}, {0}), 6);
  using report::Spread;
  const std::vector<Spread> wanted{Spread::kAgrees,  Spread::kIntroduces, Spread::kInherits,
                                   Spread::kUnknown, Spread::kInherits,   Spread::kIntroduces};
  ASSERT_EQ(report.run().calls.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(report.run().calls[i].spread, wanted[i]) << report.run().calls[i].name;
  }
  ASSERT_EQ(report.run().edges.size(), 5U);
  EXPECT_EQ(report.run().edges[0].from, 0U);
  EXPECT_EQ(report.run().edges[0].to, 1U);
}

}  // namespace
}  // namespace msprobe::torchair
