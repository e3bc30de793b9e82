// SPDX-License-Identifier: Apache-2.0
#include "tables/detail_columns.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documented/judge.h"
#include "documented/result_row.h"
#include "tables/table_reader.h"

namespace msprobe::tables {
namespace {

using documented::DetailRow;
using documented::Profile;
using documented::ResultRow;
using ::testing::HasSubstr;

std::string line_of(const DetailRow& row, Profile profile) {
  std::string out;
  append_record(out, detail_columns(profile), row, kDefaultPrecision);
  return out;
}

TEST(DetailColumns, TitlesComeInBothSets) {
  const std::string english = csv_header(detail_columns(Profile::kReference), Titles::kEnglish);
  EXPECT_THAT(english, ::testing::StartsWith("\xEF\xBB\xBF"
                                             "API name,Bench Dtype,DEVICE Dtype,"));
  EXPECT_THAT(english, ::testing::EndsWith(",Status,Message\r\n"));
  EXPECT_THAT(csv_header(detail_columns(Profile::kReference), Titles::kChinese),
              HasSubstr("Shape,余弦相似度,最大绝对误差,双百指标"));
  EXPECT_EQ(english,
            "\xEF\xBB\xBF"
            "API name,Bench Dtype,DEVICE Dtype,Shape,Cosine similarity,Maximum absolute "
            "error,Dual-100 metric,Dual-1000 metric,Dual-10000 metric,Binary consistency error "
            "rate,Error balance,Root-mean-square error (RMSE),Error ratio in small value "
            "range,Maximum relative error,Mean relative error,inf/nan error rate,Relative error "
            "rate,Absolute error rate,Maximum ULP error,Mean ULP error,Proportion of ULP errors "
            "greater than the threshold,Status,Message\r\n");
  EXPECT_EQ(detail_columns(Profile::kReference).size(), 23U);
  EXPECT_THAT(
      csv_header(detail_columns(Profile::kDocumented), Titles::kEnglish),
      ::testing::EndsWith(
          ",Message,Strict Status,Strict Reason,Likely Cause,Rerun Command,Error Over Bound\r\n"));
}

// The row of a skipped call: name, twenty blanks, SKIP, message.
TEST(DetailColumns, SkippedCallHasTwentyBlanks) {
  const documented::SkippedCall call =
      documented::skipped_call("NPU.foo.0", {SkipReason::kBind, "why"});
  std::string blanks;
  for (int i = 0; i < 20; ++i) blanks += ", ";
  EXPECT_EQ(line_of(call.detail, Profile::kReference),
            "NPU.foo.0.forward.output.0" + blanks + ",SKIP,why\r\n");
  std::string result;
  append_record(result, result_columns(), call.result, kDefaultPrecision);
  EXPECT_EQ(result, "NPU.foo.0,SKIP,SKIP,why\r\n");
}

TEST(DetailColumns, EmptyVerdictIsBlank) {
  std::string out;
  append_record(
      out, result_columns(),
      ResultRow{.api_name = "f.0", .forward = Verdict::kPass, .backward = {}, .message = {}},
      kDefaultPrecision);
  EXPECT_EQ(out, "f.0,pass, ,\r\n");
}

DetailRow sample() {
  DetailRow row =
      documented::reason_row("Functional.f.0.forward.output.0", Verdict::kWarning, "a,\nb");
  row.device_dtype = "torch.float16";
  row.shape = "(2, 3)";
  row.rmse = {documented::Cell::Kind::kDouble, 0.25};
  row.max_abs_error = {documented::Cell::Kind::kSingle, 0.0009765625};
  return row;
}

TEST(TableReader, ReadsBackWhatWasWrittenInEitherTitleSet) {
  for (const Titles titles : {Titles::kEnglish, Titles::kChinese}) {
    const auto columns = detail_columns(Profile::kDocumented);
    const std::string text = csv_header(columns, titles) + line_of(sample(), Profile::kDocumented);
    auto table = TableReader<DetailRow>::start(text, "f.csv", columns);
    ASSERT_TRUE(table) << table.error().message;
    DetailRow row;
    ASSERT_TRUE(*table->next(row));
    EXPECT_EQ(table->problem(), "");
    EXPECT_EQ(row.api_name, sample().api_name);
    EXPECT_EQ(row.shape, "(2, 3)");
    EXPECT_EQ(row.message, "a,\nb");
    EXPECT_EQ(row.status, Verdict::kWarning);
    EXPECT_EQ(row.rmse.value, 0.25);
    EXPECT_EQ(row.max_abs_error.value, 0.0009765625);
    EXPECT_TRUE(row.cosine.blank());
    EXPECT_FALSE(*table->next(row));
  }
}

TEST(TableReader, ColumnsMayComeInAnyOrderAndBeMissing) {
  const auto columns = detail_columns(Profile::kDocumented);
  const std::string text = "Status,Extra,均方根误差,api NAME\nerror,x,1.5,f.0\n";
  auto table = TableReader<DetailRow>::start(text, "f.csv", columns);
  ASSERT_TRUE(table);
  DetailRow row;
  ASSERT_TRUE(*table->next(row));
  EXPECT_EQ(row.api_name, "f.0");
  EXPECT_EQ(row.rmse.value, 1.5);
  EXPECT_EQ(row.status, Verdict::kError);
  EXPECT_TRUE(table->has(columns[0]));
  EXPECT_FALSE(table->has(columns[1]));
}

TEST(TableReader, SaysWhyARowCannotBeTrusted) {
  const auto columns = detail_columns(Profile::kDocumented);
  const std::string text =
      "API name,Cosine similarity,Status,Message\nf.0,abc,pass,\nf.1,1,pass,m,x\nf.2,1\n"
      "f.3,1,fine,\nf.4,1,pass\n";
  auto table = TableReader<DetailRow>::start(text, "f.csv", columns);
  ASSERT_TRUE(table);
  DetailRow row;
  ASSERT_TRUE(*table->next(row));
  EXPECT_EQ(table->problem(), "line 2: Cosine similarity: 'abc' is not a number");
  ASSERT_TRUE(*table->next(row));
  EXPECT_EQ(table->problem(), "line 3: 5 cells, the titles have 4");
  ASSERT_TRUE(*table->next(row));
  EXPECT_EQ(table->problem(), "line 4: 2 cells, the titles have 4");
  ASSERT_TRUE(*table->next(row));
  EXPECT_THAT(table->problem(), HasSubstr("Status: 'fine' is not one of pass"));
  ASSERT_TRUE(*table->next(row));
  EXPECT_EQ(table->problem(), "");
}

TEST(TableReader, AnEmptyFileHasNoTitles) {
  const auto table =
      TableReader<DetailRow>::start("", "f.csv", detail_columns(Profile::kDocumented));
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().message, "f.csv: empty, no titles");
}

}  // namespace
}  // namespace msprobe::tables
