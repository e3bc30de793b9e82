// SPDX-License-Identifier: Apache-2.0
// Profile documented, case by case: what a user must see where the public tool passes, stops or
// drops the row.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "documented/judge.h"
#include "final_verdict/api_precision_compare.h"
#include "final_verdict/compare_columns.h"
#include "final_verdict/comparison_for_test.h"
#include "tables/detail_columns.h"

namespace msprobe::final_verdict {
namespace {

using documented::Cell;
using documented::DetailRow;
using documented::Profile;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Cell number(double value) { return {Cell::Kind::kDouble, value}; }

DetailRow tensor_row(std::string_view name, std::string_view dtype = "torch.float32") {
  DetailRow row = documented::reason_row(name, Verdict::kPass, "m");
  row.bench_dtype = "torch.float64";
  row.device_dtype = dtype;
  row.shape = "(4, 5)";
  return row;
}

DetailRow benchmark_row(std::string_view name, double value = 0.1) {
  DetailRow row = tensor_row(name);
  row.cosine = number(1);
  row.small_value_error_ratio = row.rmse = row.max_relative_error = row.mean_relative_error =
      row.error_balance = number(value);
  return row;
}

constexpr std::string_view kName = "Functional.sigmoid.0.forward.output.0";

class Documented : public InDirectory {
 protected:
  std::filesystem::path file(const std::string& name, const std::vector<DetailRow>& rows) const {
    const auto columns = tables::detail_columns(Profile::kDocumented);
    std::string text = tables::csv_header(columns, tables::Titles::kEnglish);
    for (const DetailRow& row : rows) tables::append_record(text, columns, row, 14);
    return write(name, text);
  }

  void compare(const std::vector<DetailRow>& npu, const std::vector<DetailRow>& gpu,
               Profile profile = Profile::kDocumented) {
    PrecisionOptions options = options_for(file("npu.csv", npu), file("gpu.csv", gpu));
    options.profile = profile;
    options.warn = [&](std::string_view text) { warnings_.emplace_back(text); };
    Result<PrecisionOutcome> outcome = api_precision_compare(options);
    ASSERT_TRUE(outcome) << outcome.error().message;
    outcome_ = *outcome;
    details_ = read_table(outcome->details_csv);
    detail_titles_ = take_titles(details_);
    result_ = read_table(outcome->result_csv);
    result_titles_ = take_titles(result_);
  }
  static std::vector<std::string> take_titles(Table& table) {
    std::vector<std::string> titles = std::move(table.front());
    table.erase(table.begin());
    return titles;
  }
  static std::string cell(const Table& table, const std::vector<std::string>& titles,
                          std::size_t row, std::string_view title) {
    const auto place = std::ranges::find(titles, title);
    if (place == titles.end()) return fmt::format("there is no column {}", title);
    return table.at(row).at(static_cast<std::size_t>(place - titles.begin()));
  }
  std::string detail(std::size_t row, std::string_view title) const {
    return cell(details_, detail_titles_, row, title);
  }
  std::string result(std::size_t row, std::string_view title) const {
    return cell(result_, result_titles_, row, title);
  }

  // The one row's verdict; its message is in message().
  std::string verdict_of(const DetailRow& npu, const DetailRow& gpu,
                         Profile profile = Profile::kDocumented) {
    compare({npu}, {gpu}, profile);
    return details_.empty() ? "not shown" : detail(0, "Comparison result");
  }
  std::string algorithm() const { return detail(0, "Comparison algorithm"); }
  std::string message() const { return detail(0, "Message"); }

  PrecisionOutcome outcome_;
  Table details_;
  Table result_;
  std::vector<std::string> detail_titles_;
  std::vector<std::string> result_titles_;
  std::vector<std::string> warnings_;
};

TEST_F(Documented, EqualRowsPassInEnglish) {
  EXPECT_EQ(verdict_of(benchmark_row(kName), benchmark_row(kName)), "pass");
  EXPECT_EQ(algorithm(), "benchmark comparison");
  EXPECT_THAT(result_,
              ElementsAre(ElementsAre("Functional.sigmoid.0", "pass", " ", "", " ", " ", "")));
  EXPECT_EQ(outcome_.worst(), Verdict::kPass);
}

TEST_F(Documented, EveryTitleIsInItsPlace) {
  const std::string header =
      tables::csv_header(compare_detail_columns(Profile::kDocumented), tables::Titles::kEnglish);
  EXPECT_THAT(
      header,
      ::testing::StartsWith(
          "\xEF\xBB\xBF"
          "API name,Error ratio in small value range,Error determination result in small value "
          "range,RMSE ratio,RMSE determination result,Maximum relative error ratio,Maximum "
          "relative error determination result,Mean relative error ratio,Mean relative error "
          "determination result,Error balance ratio,Error balance determination result,INF/NaN "
          "error rate,INF/NaN determination result,Relative error rate,Relative error "
          "determination result,Absolute error rate,Absolute error determination result,Binary "
          "consistency error rate,Binary consistency error rate determination result,Mean ULP "
          "error,Proportion of ULP errors greater than the threshold,Ratio of ULP error greater "
          "than the threshold,ULP error determination result,Dual-1000 metric,Dual-1000 metric "
          "determination result,Comparison result,Comparison algorithm,Message,"));
  EXPECT_THAT(
      tables::csv_header(compare_result_columns(Profile::kDocumented), tables::Titles::kEnglish),
      ::testing::StartsWith("\xEF\xBB\xBF"
                            "API name,Forward Test Success,Backward Test Success,Message,"));
}

TEST_F(Documented, AnErrorRatioOfSmallValuesOfTwoPasses) {
  const auto verdict = [&](double npu) {
    DetailRow row = benchmark_row(kName);
    row.small_value_error_ratio = number(npu);
    return verdict_of(row, benchmark_row(kName));
  };
  EXPECT_EQ(verdict(0.2), "pass");
  EXPECT_EQ(verdict(0.2001), "error");
  EXPECT_EQ(message(), "ERROR: error ratio in small value range exceeds the limit\n");
}

TEST_F(Documented, MessagesNameTheMetricsInEnglish) {
  EXPECT_EQ(verdict_of(benchmark_row(kName, 0.9), benchmark_row(kName, 0.1)), "error");
  EXPECT_EQ(message(),
            "ERROR: error ratio in small value range exceeds the limit\n"
            "ERROR: RMSE ratio exceeds the limit\n"
            "ERROR: mean relative error ratio exceeds the limit\n");
}

TEST_F(Documented, TheCallNamesWhatFailedOnOneLine) {
  DetailRow wrong = benchmark_row("Functional.sigmoid.0.forward.output.1", 0.9);
  DetailRow right = benchmark_row("Functional.sigmoid.0.forward.output.1");
  compare({benchmark_row(kName), wrong}, {benchmark_row(kName), right});
  ASSERT_THAT(result_, SizeIs(1));
  EXPECT_EQ(result(0, "Message"),
            "forward output 1: ERROR: error ratio in small value range exceeds the limit; ERROR: "
            "RMSE ratio exceeds the limit; ERROR: mean relative error ratio exceeds the limit");
  compare({benchmark_row(kName), wrong}, {benchmark_row(kName), right}, Profile::kReference);
  EXPECT_EQ(result(0, "Message"), "");
}

// A check fills every metric; the standard is that of the API all the same.
TEST_F(Documented, AFilledRowIsNotTakenForOneOfAnEightBitFloat) {
  DetailRow row = benchmark_row(kName);
  row.inf_nan_error_rate = row.relative_error_rate = row.absolute_error_rate = number(0.5);
  EXPECT_EQ(verdict_of(row, row), "pass");
  EXPECT_EQ(algorithm(), "benchmark comparison");
  row.message = std::string(documented::kFloat8Input);
  EXPECT_EQ(verdict_of(row, row), "error");
  EXPECT_EQ(algorithm(), "absolute threshold");
}

TEST_F(Documented, TheStrictVerdictStandsBesideTheDocumentedOne) {
  const auto strict = [&](std::optional<Verdict> device, std::optional<Verdict> reference,
                          double value = 0.1) {
    DetailRow npu = benchmark_row(kName, value);
    DetailRow gpu = benchmark_row(kName);
    npu.strict_status = device;
    gpu.strict_status = reference;
    compare({npu}, {gpu});
    EXPECT_EQ(detail(0, "Strict Verdict"), result(0, "Strict Verdict"));
    return result(0, "Strict Verdict");
  };
  EXPECT_EQ(strict(Verdict::kPass, Verdict::kPass), "pass");
  EXPECT_EQ(outcome_.strict.pass, 1U);
  EXPECT_EQ(strict(Verdict::kError, Verdict::kPass), "device wrong");
  EXPECT_EQ(detail(0, "NPU Strict Status"), "error");
  EXPECT_EQ(detail(0, "GPU Strict Status"), "pass");
  EXPECT_EQ(outcome_.strict.wrong(), 1U);
  EXPECT_EQ(strict(Verdict::kWarning, Verdict::kError), "both wrong");
  EXPECT_EQ(strict(Verdict::kPass, Verdict::kPass, 0.9), "documented only");
  EXPECT_EQ(strict(std::nullopt, std::nullopt), "");
  EXPECT_EQ(outcome_.strict.judged(), 0U);
  compare({benchmark_row(kName)}, {benchmark_row(kName)}, Profile::kReference);
  EXPECT_THAT(details_[0], SizeIs(28));
  EXPECT_THAT(result_[0], SizeIs(4));
}

TEST_F(Documented, ErrorWithoutMetricsIsAnError) {
  DetailRow npu = tensor_row(kName);
  npu.status = Verdict::kError;
  npu.message = "The shape of bench and npu not equal.";
  EXPECT_EQ(verdict_of(npu, benchmark_row(kName)), "error");
  EXPECT_THAT(message(), HasSubstr("failed without metrics: The shape of bench"));
  EXPECT_EQ(verdict_of(npu, benchmark_row(kName), Profile::kReference), "pass");
  npu.device_dtype = npu.shape = " ";
  EXPECT_EQ(verdict_of(npu, benchmark_row(kName)), "error");
  EXPECT_EQ(verdict_of(npu, benchmark_row(kName), Profile::kReference), "SKIP");
}

TEST_F(Documented, UnequalBuiltInsOfThePublicToolAreAnError) {
  DetailRow npu = documented::reason_row(kName, Verdict::kError, "");
  npu.device_dtype = npu.bench_dtype = "<class 'int'>";
  EXPECT_EQ(verdict_of(npu, npu), "error");
  EXPECT_EQ(verdict_of(npu, npu, Profile::kReference), "SKIP");
}

TEST_F(Documented, SkippedOnTheNpuStaysSkipped) {
  DetailRow npu = benchmark_row(kName);
  npu.status = Verdict::kSkip;
  npu.message = "the device ran out of memory";
  EXPECT_EQ(verdict_of(npu, benchmark_row(kName)), "SKIP");
  EXPECT_EQ(message(), "the device ran out of memory");
  EXPECT_EQ(result(0, "Message"), "the device ran out of memory");
  EXPECT_EQ(outcome_.worst(), Verdict::kSkip);
}

TEST_F(Documented, RowsWithoutPartnerAreShownAndReported) {
  compare({benchmark_row(kName)}, {benchmark_row("Torch.sum.0.forward.output.0")});
  ASSERT_THAT(details_, SizeIs(1));
  EXPECT_EQ(detail(0, "Comparison result"), "SKIP");
  EXPECT_EQ(message(),
            "This API : Functional.sigmoid.0.forward.output.0 does not exist in the GPU data.");
  EXPECT_EQ(outcome_.npu_only, 1U);
  EXPECT_EQ(outcome_.gpu_only, 1U);
  EXPECT_THAT(warnings_, Contains("This API : Torch.sum.0.forward.output.0 does not exist in the "
                                  "NPU data."));
  compare({benchmark_row(kName)}, {benchmark_row("Torch.sum.0.forward.output.0")},
          Profile::kReference);
  EXPECT_THAT(details_, SizeIs(0));
}

TEST_F(Documented, RepeatedGpuRowsCostOnlyTheirRow) {
  const DetailRow other = benchmark_row("Torch.sum.0.forward.output.0");
  const DetailRow first = benchmark_row("Torch.exp.0.forward.output.0");
  compare({first, benchmark_row(kName), other},
          {benchmark_row(kName), first, benchmark_row(kName), other});
  ASSERT_THAT(details_, SizeIs(3));
  EXPECT_EQ(detail(1, "Comparison result"), "SKIP");
  EXPECT_THAT(detail(1, "Message"), HasSubstr("has multiple records in the GPU data."));
  EXPECT_EQ(detail(2, "Comparison result"), "pass");
  EXPECT_EQ(outcome_.repeated, 1U);
  compare({first, benchmark_row(kName), other},
          {benchmark_row(kName), first, benchmark_row(kName), other}, Profile::kReference);
  EXPECT_THAT(details_, SizeIs(1));
  EXPECT_THAT(result_, SizeIs(0));
  EXPECT_THAT(outcome_.stopped, HasSubstr("multiple records"));
}

TEST_F(Documented, EmptyShapesOfAnyRankAreSkipped) {
  DetailRow npu = benchmark_row(kName);
  npu.shape = "(0, 3)";
  EXPECT_EQ(verdict_of(npu, npu), "SKIP");
  EXPECT_EQ(verdict_of(npu, npu, Profile::kReference), "pass");
  npu.shape = "(10, 3)";
  EXPECT_EQ(verdict_of(npu, npu), "pass");
}

TEST_F(Documented, DifferentDtypeOrShapeIsNotTheSameCall) {
  DetailRow gpu = benchmark_row(kName);
  gpu.device_dtype = "torch.float16";
  EXPECT_EQ(verdict_of(benchmark_row(kName), gpu), "SKIP");
  EXPECT_THAT(message(), HasSubstr("has another dtype: not the same call."));
  EXPECT_EQ(outcome_.not_same, 1U);
  gpu = benchmark_row(kName);
  gpu.shape = "(5, 4)";
  EXPECT_EQ(verdict_of(benchmark_row(kName), gpu), "SKIP");
  EXPECT_THAT(message(), HasSubstr("has another shape"));
  EXPECT_EQ(verdict_of(benchmark_row(kName), gpu, Profile::kReference), "pass");
}

TEST_F(Documented, NanOnTheNpuOnlyNeverPasses) {
  DetailRow npu = benchmark_row(kName);
  npu.cosine = number(std::nan(""));
  npu.status = Verdict::kError;
  EXPECT_EQ(verdict_of(npu, benchmark_row(kName)), "error");
  EXPECT_THAT(message(), HasSubstr("NaN or Inf in the errors of the NPU only"));
  EXPECT_EQ(verdict_of(npu, npu), "pass");
  EXPECT_EQ(verdict_of(npu, benchmark_row(kName), Profile::kReference), "pass");
}

TEST_F(Documented, GpuRowWithoutMetricsGivesNoVerdict) {
  EXPECT_EQ(verdict_of(benchmark_row(kName), tensor_row(kName)), "SKIP");
  EXPECT_EQ(message(), "The GPU row has no metric of the benchmark comparison.");
}

TEST_F(Documented, BlankMetricsWithAPassGiveNoVerdict) {
  EXPECT_EQ(verdict_of(tensor_row(kName), tensor_row(kName)), "SKIP");
  EXPECT_EQ(message(), "The NPU row has no metric of the benchmark comparison (check: pass). m");
  EXPECT_EQ(verdict_of(tensor_row(kName), tensor_row(kName), Profile::kReference), "pass");
}

// Decided by one cell: nothing but a row of the public tool, which has no metric of any standard
// but the benchmark, is judged by another standard than its API's.
TEST_F(Documented, ARowThatLacksAnyMetricOfItsStandardIsSkipped) {
  using CellOfRow = Cell DetailRow::*;
  const std::vector<std::pair<std::string_view, std::vector<CellOfRow>>> kStandards{
      {"Functional.sigmoid",
       {&DetailRow::small_value_error_ratio, &DetailRow::rmse, &DetailRow::max_relative_error,
        &DetailRow::mean_relative_error, &DetailRow::error_balance}},
      {"Tensor.__div__",
       {&DetailRow::inf_nan_error_rate, &DetailRow::relative_error_rate,
        &DetailRow::absolute_error_rate}},
      {"Torch.matmul", {&DetailRow::mean_ulp_error, &DetailRow::ulp_error_proportion}},
      {"Functional.conv2d", {&DetailRow::dual_1000}},
      {"Torch.argsort", {&DetailRow::binary_error_rate}}};
  for (const auto& [api, cells] : kStandards) {
    const bool exact = cells[0] == &DetailRow::binary_error_rate;
    DetailRow full = benchmark_row(fmt::format("{}.0.forward.output.0", api), 0);
    if (exact) full.device_dtype = full.bench_dtype = "torch.int64";
    full.inf_nan_error_rate = full.relative_error_rate = full.absolute_error_rate =
        full.mean_ulp_error = full.ulp_error_proportion = full.max_ulp_error = number(0);
    full.dual_100 = full.dual_1000 = full.dual_10000 = number(1);
    full.binary_error_rate = number(0);
    EXPECT_EQ(verdict_of(full, full), "pass") << api;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      DetailRow row = full;
      row.*cells[i] = Cell();
      EXPECT_EQ(verdict_of(row, full), "SKIP")
          << api << " without metric " << i << ": " << message();
      EXPECT_THAT(message(), HasSubstr("The NPU row has no metric of the")) << api;
    }
  }
}

TEST_F(Documented, Dual1000MustBeAboveTheLimit) {
  constexpr std::string_view kConv = "Functional.conv2d.0.forward.output.0";
  DetailRow npu = tensor_row(kConv);
  npu.dual_1000 = number(0.999);
  EXPECT_EQ(verdict_of(npu, npu), "error");
  EXPECT_EQ(algorithm(), "dual-1000 metric");
  npu.dual_1000 = number(0.9991);
  EXPECT_EQ(verdict_of(npu, npu), "pass");
}

TEST_F(Documented, TruedivIsJudgedByTheAbsoluteThresholdAsDivIs) {
  for (const std::string_view api : {"__truediv__", "__div__"}) {
    DetailRow npu = benchmark_row(fmt::format("Tensor.{}.0.forward.output.0", api));
    npu.inf_nan_error_rate = npu.relative_error_rate = npu.absolute_error_rate = number(0);
    EXPECT_EQ(verdict_of(npu, npu), "pass") << api;
    EXPECT_EQ(algorithm(), "absolute threshold") << api;
    DetailRow bad = npu;
    bad.relative_error_rate = number(0.01);
    EXPECT_EQ(verdict_of(bad, bad), "error") << api << ": whatever the reference device shows";
    EXPECT_THAT(message(), HasSubstr("elative error")) << api;
    bad = npu;
    bad.absolute_error_rate = number(0.01);
    EXPECT_EQ(verdict_of(bad, npu), "error") << api;
    // Ten times the reference device's error, which the benchmark comparison would not pass.
    DetailRow worse = benchmark_row(npu.api_name, 1.0);
    worse.inf_nan_error_rate = worse.relative_error_rate = worse.absolute_error_rate = number(0);
    EXPECT_EQ(verdict_of(worse, npu), "pass") << api;
  }
}

TEST_F(Documented, UlpIsMeasuredAgainstTheGpuDirectly) {
  constexpr std::string_view kMatmul = "Torch.matmul.0.forward.output.0";
  const auto row = [&](double mean, double proportion, std::string_view dtype) {
    DetailRow made = tensor_row(kMatmul, dtype);
    made.mean_ulp_error = number(mean);
    made.ulp_error_proportion = number(proportion);
    return made;
  };
  const auto verdict = [&](double npu, double gpu, std::string_view dtype) {
    return verdict_of(row(100, npu, dtype), row(100, gpu, dtype));
  };
  EXPECT_EQ(verdict(0.0009, 0, "torch.float16"), "pass");
  EXPECT_EQ(verdict(0.003, 0, "torch.bfloat16"), "error");
  EXPECT_EQ(verdict(0.003, 0.0031, "torch.bfloat16"), "pass");
  EXPECT_EQ(verdict(0.003, 0.003, "torch.bfloat16"), "error");
  EXPECT_EQ(verdict(0.049, 0, "torch.float32"), "pass");
  EXPECT_EQ(verdict(0.05, 0, "torch.float32"), "error");
  EXPECT_EQ(verdict_of(row(63, 1, "torch.float32"), row(1, 0, "torch.float32")), "pass");
  EXPECT_EQ(verdict_of(row(63, 1, "torch.float32"), tensor_row(kMatmul)), "pass");
  EXPECT_EQ(verdict_of(row(65, 1, "torch.float32"), tensor_row(kMatmul)), "SKIP");
  const double nan = std::nan("");
  EXPECT_EQ(verdict_of(row(nan, 0, "torch.float32"), row(1, 0, "torch.float32")), "error");
  EXPECT_EQ(detail(0, "ULP error determination result"), "error");
}

TEST_F(Documented, FloatOfEightBitsNeedsOnlyItsProportion) {
  DetailRow npu = tensor_row(kName, "torch.float8_e4m3fn");
  npu.mean_ulp_error = number(3);
  npu.ulp_error_proportion = number(0.0009);
  EXPECT_EQ(verdict_of(npu, npu), "pass");
  EXPECT_EQ(detail(0, "Mean ULP error"), " ");
  EXPECT_EQ(detail(0, "Ratio of ULP error greater than the threshold"), " ");
  npu.ulp_error_proportion = number(0.001);
  EXPECT_EQ(verdict_of(npu, npu), "error");
}

TEST_F(Documented, ChecksByThePublicToolAreComparedByTheBenchmark) {
  constexpr std::string_view kMatmul = "Torch.matmul.0.forward.output.0";
  EXPECT_EQ(verdict_of(benchmark_row(kMatmul), benchmark_row(kMatmul)), "pass");
  EXPECT_EQ(algorithm(), "benchmark comparison");
  EXPECT_EQ(message(), "NOTE: no metric of the ULP error comparison in the NPU row.\n");
}

TEST_F(Documented, UnsupportedDtypesCountPerDirection) {
  DetailRow forward = tensor_row("Torch.fft.0.forward.output.0", "torch.complex64");
  forward.cosine = number(1);
  const DetailRow backward = benchmark_row("Torch.fft.0.backward.output.0");
  compare({forward, backward}, {forward, backward});
  EXPECT_THAT(result_, ElementsAre(ElementsAre("Torch.fft.0", "SKIP", "pass",
                                               "This data type does not support benchmark "
                                               "compare.",
                                               " ", " ", "")));
  compare({backward, forward}, {forward, backward}, Profile::kReference);
  EXPECT_THAT(result_[0], ElementsAre("Torch.fft.0", "SKIP", "SKIP", ::testing::_));
  compare({forward, backward}, {forward, backward}, Profile::kReference);
  EXPECT_THAT(result_[0], ElementsAre("Torch.fft.0", " ", "pass", ""));
}

TEST_F(Documented, SkippedBackwardSaysWhy) {
  const DetailRow forward = benchmark_row("Torch.f.0.forward.output.0");
  const DetailRow backward =
      documented::reason_row("Torch.f.0.backward.output.0", Verdict::kSkip, "no gradient");
  compare({forward, backward}, {forward, backward});
  EXPECT_THAT(result_,
              ElementsAre(ElementsAre("Torch.f.0", "pass", "SKIP", "no gradient", " ", " ", "")));
}

TEST_F(Documented, UnsafeAndInvalidNamesHaveTheirOwnLine) {
  compare({benchmark_row("=cmd|'/C calc'!A0"), benchmark_row("Badname.0"), benchmark_row(kName)},
          {benchmark_row(kName)});
  ASSERT_THAT(result_, SizeIs(3));
  EXPECT_THAT(result_[0],
              ElementsAre("'=cmd|'/C calc'!A0", "SKIP", "SKIP",
                          "api name contains special characters, please check!", " ", " ", ""));
  EXPECT_THAT(result_[1], ElementsAre("Badname.0", "SKIP", "SKIP",
                                      "The API name Badname.0 is invalid.", " ", " ", ""));
  EXPECT_EQ(result(2, "Forward Test Success"), "pass");
  EXPECT_EQ(outcome_.invalid_names, 2U);
}

TEST_F(Documented, WorstRowDecidesACall) {
  const auto row = [](int i, double value) {
    return benchmark_row(fmt::format("Torch.f.0.forward.output.{}", i), value);
  };
  compare({row(0, 0.9), row(1, 0.1)}, {row(0, 0.1), row(1, 0.1)});
  EXPECT_EQ(result(0, "Forward Test Success"), "error");
}

TEST_F(Documented, DamagedRowsAreNamed) {
  const std::string header =
      tables::csv_header(tables::detail_columns(Profile::kReference), tables::Titles::kEnglish);
  const auto npu = write("npu.csv", header + "Torch.f.0.forward.output.0,torch.fl\r\n");
  const auto gpu = file("gpu.csv", {benchmark_row("Torch.f.0.forward.output.0")});
  const auto outcome = api_precision_compare(options_for(npu, gpu));
  ASSERT_TRUE(outcome);
  const Table details = read_table(outcome->details_csv);
  EXPECT_EQ(details[1][25], "SKIP");
  EXPECT_THAT(details[1][27], HasSubstr("line 2: 2 cells, the titles have 23"));
  const auto reversed = api_precision_compare(options_for(gpu, npu));
  ASSERT_TRUE(reversed);
  EXPECT_EQ(read_table(reversed->details_csv)[1][27], "Line 2 of the GPU data is damaged.");
}

TEST_F(Documented, FilesThatAreNoDetailsAreRefused) {
  const auto gpu = file("gpu.csv", {benchmark_row(kName)});
  const auto missing =
      api_precision_compare(options_for(write("n.csv", "API name,Shape\na,b\n"), gpu));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message,
              ::testing::AllOf(HasSubstr("The following columns {DEVICE Dtype,Dual-1000 metric,"),
                               HasSubstr("are missing in npu_csv: "), HasSubstr("n.csv")));
  const auto result = api_precision_compare(
      options_for(write("accuracy_checking_result_1.csv", "API Name,Forward Test Success\n"), gpu));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("pass the details CSV beside it"));
  const auto torn = api_precision_compare(options_for(gpu, write("t.csv", "API name\n\"x")));
  EXPECT_FALSE(torn);
  const auto absent = api_precision_compare(options_for(directory_ / "no.csv", gpu));
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("no.csv"));
}

TEST_F(Documented, NothingIsLeftWhereWritingFails) {
  const auto gpu = file("gpu.csv", {benchmark_row(kName)});
  PrecisionOptions options = options_for(gpu, gpu);
  options.out_dir = directory_ / "missing";
  const auto outcome = api_precision_compare(options);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kIo);
}

}  // namespace
}  // namespace msprobe::final_verdict
