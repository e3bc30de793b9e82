// SPDX-License-Identifier: Apache-2.0
#include "report/read_results.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/shown_limits.h"
#include "scratch_directory_for_test.h"

namespace msprobe::report {
namespace {

constexpr std::string_view kDetails =
    "API name,Bench Dtype,DEVICE Dtype,Shape,Cosine similarity,Maximum absolute error,Maximum "
    "relative error,Status,Message,Strict Status,Strict Reason,Likely Cause,Rerun Command\r\n"
    "Torch.mm.0.forward.output.0,torch.float32,torch.float16,\"(2, 3)\",0.5, ,nan,error,low,error,"
    "far off,wrong scale,msprobe acc_check -api_info d.json --only Torch.mm.0\r\n"
    "Torch.mm.0.backward.output.0,torch.float32,torch.float16,\"(2, 3)\",1,0,inf,pass,,pass,,,\r\n"
    "Torch.linalg.norm.1.forward.output.0, , , , , , ,SKIP,missing_data: no file,SKIP,,,\r\n";
constexpr std::string_view kResult =
    "API name,Forward Test Success,Backward Test Success,Message\r\n"
    "Torch.mm.0,warning,pass,told\r\n";

TEST(ReadResults, RowsGatherIntoCalls) {
  const ScratchDirectory scratch;
  const auto path = scratch.write("mine.csv", kDetails);
  const Result<ResultFiles> files = find_result_files(path);
  ASSERT_TRUE(files.has_value()) << files.error().message;
  EXPECT_TRUE(files->result.empty());
  const Result<ReportRun> run = read_run(*files, {});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  ASSERT_EQ(run->calls.size(), 2U);
  ASSERT_EQ(run->rows.size(), 3U);
  const ReportCall& mm = run->calls[0];
  EXPECT_EQ(mm.name, "Torch.mm.0");
  EXPECT_EQ(mm.forward, Verdict::kError);
  EXPECT_EQ(mm.backward, Verdict::kPass);
  EXPECT_EQ(mm.strict, Verdict::kError);
  EXPECT_EQ(mm.row_count, 2U);
  EXPECT_EQ(run->rows[1].part, "backward.output.0");
  EXPECT_EQ(run->rerun.text(), "msprobe acc_check -api_info d.json");
  EXPECT_EQ(run->calls[1].message, "missing_data: no file");
  EXPECT_EQ(run->calls[1].skip, SkipReason::kMissingData);
  EXPECT_FALSE(run->calls[1].backward);
}

TEST(ReadResults, NumbersKeepBlanksNanAndInf) {
  const ScratchDirectory scratch;
  const Result<ReportRun> run = read_run({scratch.write("mine.csv", kDetails), {}, false}, {});
  ASSERT_TRUE(run.has_value());
  const auto at = [&](std::size_t row, std::string_view title) {
    const auto metric = std::ranges::find(run->metrics, title, &Metric::title);
    return run->rows[row].numbers[static_cast<std::size_t>(metric - run->metrics.begin())];
  };
  EXPECT_EQ(at(0, "Cosine similarity"), 0.5);
  EXPECT_EQ(at(0, "Maximum absolute error"), kNoNumber);
  EXPECT_TRUE(std::isnan(at(0, "Maximum relative error")));
  EXPECT_TRUE(std::isinf(at(1, "Maximum relative error")));
}

TEST(ReadResults, BytesThatAreNoUtf8AreShown) {
  const ScratchDirectory scratch;
  const auto csv = scratch.write("a.csv",
                                 "API name,DEVICE Dtype,Status,Message\r\n"
                                 "Torch.m\xff.0.forward.output.0,torch.float16,pass,a\xc3(\r\n");
  const Result<ReportRun> run = read_run({csv, {}, false}, {});
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->calls[0].name, "Torch.m\\xff.0");
  EXPECT_EQ(run->rows[0].message, "a\\xc3(");
}

TEST(ReadResults, TheResultCsvHasTheLastWord) {
  const ScratchDirectory scratch;
  scratch.write("accuracy_checking_details_1.csv", kDetails);
  const auto result = scratch.write("accuracy_checking_result_1.csv", kResult);
  const Result<ResultFiles> files = find_result_files(result);
  ASSERT_TRUE(files.has_value()) << files.error().message;
  const Result<ReportRun> run = read_run(*files, {});
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->calls[0].forward, Verdict::kWarning);
  EXPECT_EQ(run->calls[0].message, "told");
}

TEST(ReadResults, AResultWithoutDetailsAndAnyOtherCsvAreRefused) {
  const ScratchDirectory scratch;
  const Result<ResultFiles> alone = find_result_files(scratch.write("a_result_1.csv", kResult));
  ASSERT_FALSE(alone.has_value());
  EXPECT_THAT(alone.error().message, testing::HasSubstr("details CSV is missing"));
  const Result<ResultFiles> other = find_result_files(scratch.write("other.csv", "a,b\r\n1,2\r\n"));
  ASSERT_FALSE(other.has_value());
  EXPECT_THAT(other.error().message, testing::HasSubstr("titles"));
}

TEST(ReadResults, AnotherDeviceIsPutBesideByName) {
  const ScratchDirectory scratch;
  Result<ReportRun> run = read_run({scratch.write("a.csv", kDetails), {}, false}, {});
  const Result<ReportRun> other =
      read_run({scratch.write("b.csv",
                              "API name,DEVICE Dtype,Cosine similarity,Status,Message\r\n"
                              "Torch.mm.0.forward.output.0,torch.float16,0.75,pass,\r\n"),
                {},
                false},
               {});
  ASSERT_TRUE(run.has_value() && other.has_value());
  const std::size_t own = run->metrics.size();
  add_side(*run, *other, "reference");
  ASSERT_EQ(run->metrics.size(), 2 * own);
  EXPECT_EQ(run->metrics[own].title, "Error over bound");
  EXPECT_EQ(run->metrics[own + 1].title, "Cosine similarity");
  EXPECT_EQ(run->rows[0].numbers[own + 1], 0.75);
  EXPECT_EQ(run->rows[1].numbers[own + 1], kNoNumber);
}

TEST(ReadResults, TheLimitsOfAComparisonTakeTheDtypeOfTheDevice) {
  const ScratchDirectory scratch;
  const std::string_view titles =
      "API name,Mean ULP error,Proportion of ULP errors greater than the threshold,ULP error "
      "determination result,Comparison result,Comparison algorithm,Message\r\n";
  const auto csv = scratch.write(
      "c.csv", std::string(titles) + "Torch.mm.0.forward.output.0,1,0.5,error,error,ULP,\r\n");
  const Result<ResultFiles> files = find_result_files(csv);
  ASSERT_TRUE(files.has_value() && files->compare);
  Result<ReportRun> run = read_run(*files, {});
  const Result<ReportRun> check = read_run({scratch.write("b.csv", kDetails), {}, false}, {});
  ASSERT_TRUE(run.has_value() && check.has_value());
  EXPECT_TRUE(run->limits[run->rows[0].limits].empty());
  add_side(*run, *check, "device");
  set_compare_limits(*run, {});
  const Limits& limits = run->limits[run->rows[0].limits];
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_EQ(limits[0].value, 0.001);
}

TEST(Limits, TheLadderOfADtypeAndItsOrigin) {
  JudgedBy judged_by;
  const Limits half = check_limits("mm", DType::kFloat16, judged_by);
  ASSERT_EQ(half.size(), 4U);
  EXPECT_EQ(half[0], (Limit{"Cosine similarity", ">", 0.99, "else error", "document"}));
  EXPECT_EQ(half[3], (Limit{"Dual-1000 metric", ">", 0.999, "else warning", "document"}));
  documented::Rule rule;
  rule.apis = {"mm"};
  rule.ladder = {{&documented::LadderLimits::cosine, 0.9999}};
  judged_by.standards.rules = {rule};
  EXPECT_EQ(check_limits("mm", DType::kFloat16, judged_by)[0].origin, "your standards file");
  EXPECT_EQ(check_limits("bmm", DType::kFloat16, judged_by)[0].origin, "document");
  EXPECT_EQ(check_limits("mm", DType::kInt64, judged_by)[0].metric,
            "Binary consistency error rate");
}

TEST(Limits, OfRunUtAreTheCosineAndTheDualStandardOfTheDtype) {
  const Limit cosine{"Cosine Similarity", ">", 0.99, "else error", "document"};
  const Limit dual_1000{"Relative Error (dual thousandth)", ">", 0.999, "else error", "document"};
  const Limit dual_10000{"Relative Error (dual ten thousandth)", ">", 0.9999, "else error",
                         "document"};
  EXPECT_EQ(older_limits(DType::kFloat16), (Limits{cosine, dual_1000}));
  EXPECT_EQ(older_limits(DType::kBFloat16), (Limits{cosine, dual_1000}));
  EXPECT_EQ(older_limits(DType::kFloat32), (Limits{cosine, dual_10000}));
  EXPECT_TRUE(older_limits(DType::kInt64).empty());
}

TEST(ReadResults, RowsOfRunUtAreHeldAgainstItsRule) {
  const ScratchDirectory scratch;
  const auto path = scratch.write(
      "accuracy_checking_details.csv",
      "Npu Name,Bench Dtype,NPU Dtype,Shape,Cosine Similarity,Relative Error (dual "
      "thousandth),Relative Error (dual ten thousandth),Pass,Message\r\n"
      "Torch*mm*0.forward.output.0,torch.float32,torch.float16,\"(2, 3)\",1,1,0.5,True,\r\n"
      "Torch*mm*1.forward.output.0,torch.float64,torch.float32,\"(2, 3)\",1,1,0.5,False,\r\n");
  const Result<ResultFiles> files = find_result_files(path);
  ASSERT_TRUE(files.has_value()) << files.error().message;
  const Result<ReportRun> run = read_run(*files, {});
  ASSERT_TRUE(run.has_value()) << run.error().message;
  ASSERT_EQ(run->rows.size(), 2U);
  EXPECT_EQ(run->limits[run->rows[0].limits], older_limits(DType::kFloat16));
  EXPECT_EQ(run->limits[run->rows[1].limits], older_limits(DType::kFloat32));
}

TEST(Limits, RatiosDependOnTheLevelOfTheApi) {
  const auto rmse = [](std::string_view api) {
    return compare_limits(api, nullptr, documented::Standard::kBenchmark, {})[1];
  };
  EXPECT_EQ(rmse("cumsum"), (Limit{"RMSE ratio", "<=", 2, "else error", "document, level L0"}));
  EXPECT_EQ(rmse("layer_norm"),
            (Limit{"RMSE ratio", "<=", 1.2, "else error", "document, level L2"}));
  EXPECT_TRUE(compare_limits("mm", nullptr, documented::Standard::kUlp, {}).empty());
}

TEST(ReportData, WhyACallDoesNotPass) {
  ReportRun run;
  run.rows.resize(2);
  ReportCall call;
  call.row_count = 2;
  call.forward = Verdict::kError;
  run.rows[0].status = Verdict::kWarning;
  run.rows[0].message = "close";
  run.rows[1].status = Verdict::kError;
  run.rows[1].message = "\nCosine similarity is less than 0.99, consider as error, skip other.\n";
  EXPECT_EQ(why(run, call), "Cosine similarity is less than 0.99");
  run.rows[0].status = run.rows[1].status = Verdict::kPass;
  run.rows[0].strict = Verdict::kError;
  run.rows[0].strict_reason = "3 of 4 elements are beyond the bound";
  EXPECT_EQ(why(run, call), "3 of 4 elements are beyond the bound");
  run.rows[1].likely_cause = "wrong scale";
  EXPECT_EQ(why(run, call), "wrong scale");
  run.rows = {{}, {}};
  call.forward = Verdict::kPass;
  EXPECT_EQ(why(run, call), "");
  call.forward = Verdict::kSkip;
  call.message = "crashed: signal 11";
  EXPECT_EQ(why(run, call), "crashed: signal 11");
}

TEST(ReportData, BareNames) { EXPECT_EQ(bare_api("Torch.linalg.norm.1"), "linalg.norm"); }

}  // namespace
}  // namespace msprobe::report
