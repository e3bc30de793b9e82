// SPDX-License-Identifier: Apache-2.0
// msprobe api_precision_compare: two details CSVs in, the final verdict out.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "compare/api_precision_compare.h"
#include "compare/strict_verdict.h"
#include "core/json_writer.h"
#include "core/log.h"
#include "core/path_check.h"
#include "report_files.h"
#include "summary.h"
#include "tables/text_table.h"
#include "timestamp.h"

namespace msprobe::app {
namespace {

constexpr std::size_t kShownCalls = 20;    // failing calls listed on the terminal
constexpr std::size_t kShownPartners = 5;  // rows without a partner named one by one

struct CompareOptions {
  std::string npu;
  std::string gpu;
  std::string out = ".";
  std::string json;
  ReportFiles report;
  VerdictOptions verdict;
  OutputOptions output;
};

// How many calls fail, the first of them, and why the first was skipped.
struct Findings {
  std::vector<judge::ResultRow> wrong;   // by the strict verdict
  std::vector<judge::ResultRow> failed;  // by the documents alone
  std::uint64_t failing = 0;             // as --fail-on counts
  std::uint64_t shown = 0;               // calls a person wants to see
  std::string first_skip;
};

std::string verdict_text(std::optional<Verdict> verdict) {
  return verdict ? std::string(name(*verdict)) : "-";
}

bool is_wrong(const judge::ResultRow& row) {
  return row.strict_verdict == name(compare::StrictVerdict::kDeviceWrong) ||
         row.strict_verdict == name(compare::StrictVerdict::kBothWrong);
}

bool documented_fails(const judge::ResultRow& row, bool on_warning) {
  const auto bad = [&](std::optional<Verdict> verdict) {
    return verdict == Verdict::kError || (on_warning && verdict == Verdict::kWarning);
  };
  return bad(row.forward) || bad(row.backward);
}

std::vector<std::string> count_row(std::string_view title, const compare::VerdictCounts& counts) {
  return {std::string(title),           std::to_string(counts.pass), std::to_string(counts.warning),
          std::to_string(counts.error), std::to_string(counts.skip), std::to_string(counts.blank)};
}

// The calls to look at: first those that are wrong, then those that fail by the documents alone.
std::string worst_calls(const Findings& findings, bool with_strict) {
  tables::TextTable table{{"API", "Forward", "Backward"}, {}};
  if (with_strict) table.titles.emplace_back("Strict verdict");
  for (const auto* rows : {&findings.wrong, &findings.failed}) {
    for (const judge::ResultRow& row : *rows) {
      if (table.rows.size() == kShownCalls) break;
      table.rows.push_back(
          {log::clean(row.api_name), verdict_text(row.forward), verdict_text(row.backward)});
      if (with_strict) table.rows.back().push_back(row.strict_verdict);
    }
  }
  if (table.rows.empty()) return "";
  std::string text = tables::render(table, log::colour(STDOUT_FILENO));
  if (findings.shown > table.rows.size()) {
    text += fmt::format("... and {} more\n", findings.shown - table.rows.size());
  }
  return text + "\n";
}

std::string text_for_a_person(const compare::PrecisionOutcome& outcome, const Findings& findings) {
  const compare::StrictCounts& strict = outcome.strict;
  std::string text;
  if (strict.judged() > 0) {
    text += fmt::format(
        "strict verdict of {} calls: {} pass, {} device wrong, {} both wrong, {} documented "
        "only\n\n",
        strict.judged(), strict.pass, strict.device_wrong, strict.both_wrong,
        strict.documented_only);
  }
  text += worst_calls(findings, strict.judged() > 0);
  const tables::TextTable counts{
      {"", "pass", "warning", "error", "SKIP", "none"},
      {count_row("forward", outcome.forward), count_row("backward", outcome.backward)}};
  text += tables::render(counts, false) + "\n";
  text += fmt::format("{} calls compared, {} fail: {}\n", outcome.calls, findings.failing,
                      name(outcome.worst()));
  if (outcome.npu_only + outcome.gpu_only + outcome.repeated + outcome.not_same +
          outcome.invalid_names >
      0) {
    text += fmt::format(
        "rows left out: {} only in the NPU file, {} only in the GPU file, {} repeated there, "
        "{} of another dtype or shape, {} with an invalid name\n",
        outcome.npu_only, outcome.gpu_only, outcome.repeated, outcome.not_same,
        outcome.invalid_names);
  }
  text += fmt::format("result   {}\ndetails  {}\n", outcome.result_csv.string(),
                      outcome.details_csv.string());
  return text;
}

void write_counts(JsonWriter& json, std::string_view key, const compare::VerdictCounts& counts) {
  json.key(key).begin_object();
  json.key("pass").value(counts.pass).key("warning").value(counts.warning);
  json.key("error")
      .value(counts.error)
      .key("skip")
      .value(counts.skip)
      .key("none")
      .value(counts.blank);
  json.end_object();
}

std::string json_summary(const compare::PrecisionOutcome& outcome, std::uint64_t failing) {
  JsonWriter json;
  json.begin_object();
  json.key("verdict").value(name(outcome.worst()));
  json.key("calls").value(outcome.calls).key("failing").value(failing);
  write_counts(json, "forward", outcome.forward);
  write_counts(json, "backward", outcome.backward);
  write_counts(json, "rows", outcome.rows);
  if (outcome.strict.judged() > 0) {
    json.key("strict").begin_object().key("pass").value(outcome.strict.pass);
    json.key("device_wrong").value(outcome.strict.device_wrong);
    json.key("both_wrong").value(outcome.strict.both_wrong);
    json.key("documented_only").value(outcome.strict.documented_only).end_object();
  }
  json.key("npu_only").value(outcome.npu_only).key("gpu_only").value(outcome.gpu_only);
  json.key("repeated").value(outcome.repeated).key("not_same").value(outcome.not_same);
  json.key("invalid_names").value(outcome.invalid_names);
  json.key("result_csv").value(outcome.result_csv.string());
  json.key("details_csv").value(outcome.details_csv.string());
  json.end_object();
  return json.text();
}

// Warns of the first rows one by one, then only counts: a million lines help nobody.
std::function<void(std::string_view)> sparing_warner() {
  return [shown = std::size_t{0}](std::string_view text) mutable {
    if (++shown <= kShownPartners) log::warning("{}", text);
    if (shown == kShownPartners + 1)
      log::warning("further rows of this kind are counted in the summary");
  };
}

ExitStatus exit_status(const compare::PrecisionOutcome& outcome, const Findings& findings,
                       const CompareOptions& options) {
  if (options.verdict.fail_on_strict() && outcome.worst() != Verdict::kSkip) {
    if (outcome.strict.judged() > 0) return outcome.strict.wrong() > 0 ? kFailed : kPassed;
    log::error("--fail-on strict: {} has no strict status; check with --profile documented",
               options.npu);
    return kCannot;
  }
  switch (outcome.worst()) {
    case Verdict::kError:
      return kFailed;
    case Verdict::kWarning:
      return options.verdict.fail_on_warning() ? kFailed : kPassed;
    case Verdict::kPass:
      return kPassed;
    case Verdict::kSkip:
      break;
  }
  log::error("{}: nothing was compared: no row has a verdict{}", options.npu,
             findings.first_skip.empty() ? "" : "; the first: " + findings.first_skip);
  return kCannot;
}

ExitStatus run(const CompareOptions& options) {
  if (const Result<void> good = check_fail_on(options.verdict); !good) return refuse(good.error());
  const Result<judge::Standards> standards = load_standards(options.verdict);
  if (!standards) return refuse(standards.error());
  const Result<std::filesystem::path> npu = check_input_file(options.npu, {.suffix = ".csv"});
  if (!npu) return refuse(npu.error());
  const Result<std::filesystem::path> gpu = check_input_file(options.gpu, {.suffix = ".csv"});
  if (!gpu) return refuse(gpu.error());
  const Result<std::filesystem::path> out = prepare_output_directory(options.out);
  if (!out) return refuse(out.error());

  log::info("Start compare task");
  Findings findings;
  compare::PrecisionOptions job{
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
  job.on_result = [&](const judge::ResultRow& row) {
    if (findings.first_skip.empty() && row.forward == Verdict::kSkip) {
      findings.first_skip = row.api_name + ": " + row.message;
    }
    const bool wrong = is_wrong(row);
    const bool fails = documented_fails(row, options.verdict.fail_on_warning());
    if (fails) ++findings.failing;
    if (!wrong && !fails) return;
    ++findings.shown;
    auto& rows = wrong ? findings.wrong : findings.failed;
    if (rows.size() < kShownCalls) rows.push_back(row);
  };
  const Result<compare::PrecisionOutcome> outcome = compare::api_precision_compare(job);
  if (!outcome) return refuse(outcome.error());
  if (!outcome->stopped.empty()) log::error("Analyse csv Error: {}", outcome->stopped);
  log::info("Compare task result will be saved in {}", outcome->result_csv.string());
  log::info("Compare task detail will be saved in {}", outcome->details_csv.string());
  const Result<void> shown = show_summary(options.json, json_summary(*outcome, findings.failing),
                                          text_for_a_person(*outcome, findings));
  if (!shown) return refuse(shown.error());
  const Result<void> written =
      write_report_files(options.report, {.csvs = {outcome->details_csv, *npu, *gpu},
                                          .dump = {},
                                          .verdict = options.verdict,
                                          .profile_given = true});
  if (!written) return refuse(written.error());
  return exit_status(*outcome, findings, options);
}

}  // namespace

Run declare_api_precision_compare(cli::Parser& command) {
  auto options = std::make_shared<CompareOptions>();
  command.group("Input");
  command.value("-npu,--npu_csv_path", options->npu, "details CSV of the device under test")
      .named("CSV")
      .required();
  command.value("-gpu,--gpu_csv_path", options->gpu, "details CSV of the device to compare with")
      .named("CSV")
      .required();
  command.group("Output");
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
