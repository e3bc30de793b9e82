// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <gtest/gtest.h>

#include "check/dialect.h"
#include "check/judged_call.h"
#include "tables/older_columns.h"

namespace msprobe::check {
namespace {

using protocol::LeafKind;
using protocol::MeasuredCall;
using protocol::MeasuredLeaf;

// 10000 elements, of which `bad` miss the limit of the dtype.
MeasuredLeaf leaf_of(DType dtype, double cosine, std::uint64_t bad_1000, std::uint64_t bad_10000) {
  MeasuredLeaf leaf;
  leaf.path = "0";
  leaf.kind = LeafKind::kTensor;
  leaf.device.dtype = dtype;
  leaf.bench.dtype = dtype == DType::kFloat32 ? DType::kFloat64 : DType::kFloat32;
  leaf.bench.shape = leaf.device.shape = {100, 100};
  leaf.metrics.count = 10000;
  leaf.metrics.device_abs_max = leaf.metrics.bench_abs_max = 1;
  leaf.metrics.cosine = cosine;
  leaf.metrics.within_1000 = 10000 - bad_1000;
  leaf.metrics.within_10000 = 10000 - bad_10000;
  leaf.metrics.different = 10000;
  leaf.metrics.max_ulp_error = 1;
  return leaf;
}

documented::DetailRow row_of(const MeasuredLeaf& leaf) {
  MeasuredCall call;
  call.forward = {leaf};
  JudgeRules rules;
  rules.dialect = &older_dialect();
  return judge_call(call, ops::NamedCall("Torch.mul.0"), rules).details.front();
}

Verdict verdict_of(const MeasuredLeaf& leaf) { return row_of(leaf).status; }

TEST(OlderRule, TheCosineMustBeAbove099) {
  EXPECT_EQ(verdict_of(leaf_of(DType::kFloat32, 0.991, 0, 0)), Verdict::kPass);
  EXPECT_EQ(verdict_of(leaf_of(DType::kFloat32, 0.99, 0, 0)), Verdict::kError);
  EXPECT_EQ(verdict_of(leaf_of(DType::kFloat32, std::numeric_limits<double>::quiet_NaN(), 0, 0)),
            Verdict::kError);
}

TEST(OlderRule, HalfTypesMeetTheDualThousandth) {
  for (const DType half : {DType::kFloat16, DType::kBFloat16}) {
    EXPECT_EQ(verdict_of(leaf_of(half, 1, 9, 5000)), Verdict::kPass);
    EXPECT_EQ(verdict_of(leaf_of(half, 1, 10, 10)), Verdict::kError);
  }
}

TEST(OlderRule, Float32MeetsTheDualTenThousandth) {
  EXPECT_EQ(verdict_of(leaf_of(DType::kFloat32, 1, 0, 0)), Verdict::kPass);
  EXPECT_EQ(verdict_of(leaf_of(DType::kFloat32, 1, 0, 1)), Verdict::kError);
}

TEST(OlderRule, ASmallAbsoluteErrorExcusesNothing) {
  MeasuredLeaf leaf = leaf_of(DType::kFloat32, 1, 100, 100);
  leaf.metrics.max_abs_error = 1e-6;
  EXPECT_EQ(verdict_of(leaf), Verdict::kError);
}

TEST(OlderRule, SidesOfZerosHaveNoCosine) {
  MeasuredLeaf zeros = leaf_of(DType::kFloat32, 0, 0, 0);
  zeros.metrics.device_abs_max = zeros.metrics.bench_abs_max = 0;
  EXPECT_EQ(verdict_of(zeros), Verdict::kPass);
  EXPECT_TRUE(row_of(zeros).cosine.blank());
  MeasuredLeaf one_side = leaf_of(DType::kFloat32, 0, 0, 0);
  one_side.metrics.device_abs_max = 0;
  EXPECT_EQ(verdict_of(one_side), Verdict::kError);
  EXPECT_EQ(row_of(one_side).cosine_message, "All the data is zero in npu dump data.");
}

TEST(OlderFiles, CellsAreSpelledAsTheOlderToolDoes) {
  std::string text;
  documented::DetailRow row = row_of(leaf_of(DType::kFloat16, 1, 0, 0));
  row.strict_status = Verdict::kPass;
  tables::append_record(text, older_dialect().detail_columns(documented::Profile::kDocumented), row,
                        older_dialect().style);
  EXPECT_NE(text.find("torch.float32,torch.float16,\"(100, 100)\",1.00000000000000,"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(",N/A,,True,,pass,"), std::string::npos) << text;
  text.clear();
  documented::ResultRow result{"Torch*mul*0", Verdict::kError, std::nullopt, ""};
  tables::append_record(text, older_dialect().result_columns(), result, older_dialect().style);
  EXPECT_EQ(text, "Torch*mul*0,False,N/A,\r\n");
}

TEST(OlderFiles, NamesHaveNoTimeStamp) {
  const journal::CsvPaths paths =
      journal::csv_paths("out", "20260101000000", older_dialect().names);
  EXPECT_EQ(paths.result, "out/accuracy_checking_result.csv");
  EXPECT_EQ(paths.details, "out/accuracy_checking_details.csv");
  EXPECT_EQ(older_dialect().error_data(Config{}, paths, {}), "./ut_error_data");
}

}  // namespace
}  // namespace msprobe::check
