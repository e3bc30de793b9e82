// SPDX-License-Identifier: Apache-2.0
// msprobe api_precision_compare: two details CSVs in, the final verdict out.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "check_results.h"
#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/log.h"
#include "core/path_check.h"
#include "final_verdict/api_precision_compare.h"
#include "final_verdict/compare_summary.h"
#include "report/result_runs.h"
#include "report_options.h"
#include "summary.h"
#include "timestamp.h"

namespace msprobe::app {
namespace {

constexpr std::size_t kShownPartners = 5;  // rows without a partner named one by one

struct CompareOptions {
  std::string npu;
  std::string gpu;
  std::string out = ".";
  std::string json;
  report::ReportFiles report;
  documented::VerdictOptions verdict;
  tables::OutputOptions output;
};

// Warns of the first rows one by one, then only counts: a million lines help nobody.
std::function<void(std::string_view)> sparing_warner() {
  return [shown = std::size_t{0}](std::string_view text) mutable {
    if (++shown <= kShownPartners) log::warning("{}", text);
    if (shown == kShownPartners + 1)
      log::warning("further rows of this kind are counted in the summary");
  };
}

ExitStatus exit_status(const final_verdict::PrecisionOutcome& outcome,
                       const std::string& first_skip, const CompareOptions& options) {
  const final_verdict::StrictCounts& strict = outcome.strict;
  if (strict.raised + strict.lost > 0) return kFailed;
  if (!by_documents(options.verdict.fail_on()) && outcome.worst() != Verdict::kSkip) {
    if (strict.judged() > 0) {
      const bool doubtful = options.verdict.fail_on() == FailOn::kInconclusive;
      const bool failed = strict.wrong() + (doubtful ? strict.inconclusive : 0) > 0;
      return failed ? kFailed : kPassed;
    }
    if (options.verdict.asks_for_strict()) {
      log::error("--fail-on {}: {} has no strict status; check with --profile documented",
                 options.verdict.fail_on_name, options.npu);
      return kCannot;
    }
  }
  switch (outcome.worst()) {
    case Verdict::kError:
      return kFailed;
    case Verdict::kWarning:
      return options.verdict.fail_on_warning() ? kFailed : kPassed;
    case Verdict::kPass:
      return kPassed;
    case Verdict::kInconclusive:  // of the strict status alone
    case Verdict::kSkip:
      break;
  }
  log::error("{}: nothing was compared: no row has a verdict{}", options.npu,
             first_skip.empty() ? "" : "; the first: " + first_skip);
  return kCannot;
}

bool is_reference_kind(std::string_view device) {
  const std::string_view kind = device.substr(0, device.find(':'));
  return kind == "cuda" || kind == "cpu";
}

// The records of the checks say which device each is from. Nothing else shows that the two were
// exchanged: the ratios of the reference device look fine.
void warn_of_exchange(const std::filesystem::path& npu, const std::filesystem::path& gpu) {
  const std::string under_test = report::recorded_device(npu);
  const std::string reference = report::recorded_device(gpu);
  if (reference.empty() || !is_reference_kind(under_test) || is_reference_kind(reference)) return;
  log::warning(
      "-npu names a check on {}, -gpu one on {}: they look exchanged. The verdict is about the "
      "device of -npu, here {}",
      under_test, reference, under_test);
}

ExitStatus run(const CompareOptions& options) {
  if (const Result<void> good = check_fail_on(options.verdict); !good) return refuse(good.error());
  const Result<documented::Standards> standards = load_standards(options.verdict);
  if (!standards) return refuse(standards.error());
  const Result<std::filesystem::path> npu = details_to_compare(options.npu);
  if (!npu) return refuse(npu.error());
  const Result<std::filesystem::path> gpu = details_to_compare(options.gpu);
  if (!gpu) return refuse(gpu.error());
  const Result<std::filesystem::path> out = prepare_output_directory(options.out);
  if (!out) return refuse(out.error());

  warn_of_exchange(*npu, *gpu);
  log::info("Start compare task");
  final_verdict::CompareSummary summary(options.verdict.fail_on());
  final_verdict::PrecisionOptions job{
      .npu_csv = *npu,
      .gpu_csv = *gpu,
      .out_dir = *out,
      .timestamp = local_timestamp(),
      .profile = options.verdict.profile,
      .titles = options.output.titles,
      .standards = *standards,
      .precision = options.output.precision.value_or(tables::kDefaultPrecision),
      .warn = sparing_warner(),
      .on_result = {}};
  job.on_result = [&](const documented::ResultRow& row) { summary.add(row); };
  const Result<final_verdict::PrecisionOutcome> outcome = final_verdict::api_precision_compare(job);
  if (!outcome) return refuse(outcome.error());
  if (!outcome->stopped.empty()) log::error("Analyse csv Error: {}", outcome->stopped);
  log::info("Compare task result will be saved in {}", outcome->result_csv.string());
  log::info("Compare task detail will be saved in {}", outcome->details_csv.string());
  const Result<void> shown = show_summary(options.json, summary.json(*outcome),
                                          summary.text(*outcome, log::colour(STDOUT_FILENO)));
  if (!shown) return refuse(shown.error());
  const Result<void> written =
      write_report_files(options.report, {.csvs = {outcome->details_csv, *npu, *gpu},
                                          .dump = {},
                                          .verdict = options.verdict,
                                          .profile_given = true});
  if (!written) return refuse(written.error());
  return exit_status(*outcome, summary.first_skip(), options);
}

}  // namespace

Run declare_api_precision_compare(cli::Parser& command) {
  auto options = std::make_shared<CompareOptions>();
  command.group(kMostUsed);
  command
      .value("NPU,-npu,--npu_csv_path", options->npu,
             "details CSV of the device under test, or the -o directory of its check")
      .named("CSV")
      .required();
  command
      .value("GPU,-gpu,--gpu_csv_path", options->gpu,
             "details CSV of the device to compare with, or the -o directory of its check")
      .named("CSV")
      .required();
  command.value("-o,--out_path", options->out, "directory for the two CSVs")
      .named("DIR")
      .shows_default();
  declare_json(command, options->json);
  declare_report_options(command, options->report);
  declare_workbook(command, options->report);
  declare_verdict_options(command, options->verdict, /*has_strict=*/true);
  declare_output_options(command, options->output);
  return [options] { return run(*options); };
}

}  // namespace msprobe::app
