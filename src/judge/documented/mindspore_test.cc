// SPDX-License-Identifier: Apache-2.0
#include "documented/mindspore.h"

#include <limits>

#include <gtest/gtest.h>

namespace msprobe::documented {
namespace {

const Standards kStandards;

Context context(Profile profile = Profile::kDocumented) {
  return {.row_name = "Mint.add.0.forward.output.0",
          .api = "add",
          .profile = profile,
          .standards = kStandards};
}

DetailRow judged(double cosine, double max_abs_error, Profile profile = Profile::kDocumented) {
  static const Shape shape{1, 4096};
  measure::Metrics metrics;
  metrics.cosine = cosine;
  metrics.max_abs_error = max_abs_error;
  return judge_mindspore_tensor({DType::kFloat64, shape, DType::kFloat32, shape}, metrics,
                                context(profile));
}

TEST(MindSporeVerdict, PassesAbove099AndBelow00001) {
  EXPECT_EQ(judged(1, 0.00009).status, Verdict::kPass);
  EXPECT_EQ(judged(1, 0.00009).message, "");
  EXPECT_EQ(judged(0.99, 0).status, Verdict::kError) << "not above";
  EXPECT_EQ(judged(1, 0.0001).status, Verdict::kError) << "not below";
  EXPECT_EQ(judged(1, 0.0005).message,
            "max absolute difference is greater than threshold: 0.0001 ");
  EXPECT_EQ(judged(0.5, 1).message,
            "cosine similarity is less than threshold: 0.99 max absolute difference is greater "
            "than threshold: 0.0001 ");
}

TEST(MindSporeVerdict, ThePublicToolAllows0001) {
  EXPECT_EQ(judged(1, 0.0005, Profile::kReference).status, Verdict::kPass);
}

TEST(MindSporeVerdict, NanNeverPasses) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(judged(nan, 0).status, Verdict::kError);
  EXPECT_EQ(judged(1, nan).status, Verdict::kError);
}

TEST(MindSporeVerdict, NamesTypesAsMindSporeDoes) {
  const DetailRow row = judged(1, 0);
  EXPECT_EQ(row.bench_dtype, "Float64");
  EXPECT_EQ(row.device_dtype, "Float32");
  EXPECT_EQ(row.shape, "(1, 4096)");
}

TEST(MindSporeVerdict, ValuesPassWhereTheyAreEqual) {
  const auto value = [](PythonValue bench, PythonValue device) {
    return judge_mindspore_value(bench, device, context());
  };
  EXPECT_EQ(value(std::int64_t{3}, std::int64_t{3}).status, Verdict::kPass);
  EXPECT_EQ(value(std::int64_t{3}, std::int64_t{3}).bench_dtype, "int");
  EXPECT_EQ(value(std::int64_t{3}, std::int64_t{4}).status, Verdict::kError);
}

TEST(MindSporeVerdict, TheResultRowGathersTheMessages) {
  const std::vector<DetailRow> forward{judged(1, 0), judged(1, 1)};
  const std::vector<DetailRow> backward{judged(0.5, 0)};
  const ResultRow row =
      conclude_mindspore("Mint.add.0", forward, backward, Profile::kDocumented, false);
  EXPECT_EQ(row.forward, Verdict::kError);
  EXPECT_EQ(row.backward, Verdict::kError);
  EXPECT_EQ(row.message, forward[1].message + backward[0].message);
  const ResultRow alone =
      conclude_mindspore("Mint.add.0", {forward.data(), 1}, {}, Profile::kDocumented, false);
  EXPECT_EQ(alone.forward, Verdict::kPass);
  EXPECT_FALSE(alone.backward) << "no output: the cell stays blank";
}

}  // namespace
}  // namespace msprobe::documented
