// SPDX-License-Identifier: Apache-2.0
#include "check_output.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "check_json.h"
#include "cli/parser.h"
#include "core/log.h"
#include "core/shell_words.h"
#include "core/visible_text.h"
#include "report/answer.h"
#include "report/overall.h"
#include "report/scripts.h"
#include "summary.h"
#include "terminal/call_line.h"
#include "terminal/call_result.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;
using terminal::Mark;

// A terminal gets no more lines than these for calls that do not pass.
constexpr std::size_t kMostLines = 50;
// --only shows up to this many calls in full; beyond that, only those that fail.
constexpr std::size_t kMostWhole = 10;

ExitStatus status_of(const check::CheckOutcome& outcome, FailOn fail_on) {
  if (outcome.interrupted) return kCannot;
  switch (check::status_of(outcome.coverage, fail_on)) {
    case check::CheckStatus::kPassed:
      return kPassed;
    case check::CheckStatus::kFailed:
      return kFailed;
    case check::CheckStatus::kNothingChecked:
      break;
  }
  return kCannot;
}

void say_end(const check::CheckOutcome& outcome, ExitStatus status, const std::string& title) {
  if (outcome.interrupted && outcome.paths.result.empty()) {
    log::warning("interrupted before anything was checked");
    return;
  }
  if (outcome.interrupted) {
    log::warning("interrupted{}; to continue, add to the same command: -csv_path {}",
                 title.empty() ? "" : " in " + title, shell_path(outcome.paths.result));
    return;
  }
  log::info("acc_check task result csv is saved in {}", outcome.paths.result.string());
  log::info("acc_check task details csv is saved in {}", outcome.paths.details.string());
  if (status == kCannot) {
    log::error("nothing was checked: the dump has no call that can be checked");
  } else {
    log::info("Successfully completed acc_check/multi_acc_check.");
  }
  log::info("acc_check task completed.");
}

// Relative to the current directory if it is below it.
std::string shown_path(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  const fs::path near = absolute.lexically_relative(fs::current_path(error));
  const bool below = !near.empty() && *near.begin() != "..";
  return (below ? near : absolute).string();
}

std::vector<std::string> left_out(const check::Coverage& coverage) {
  std::vector<std::string> parts;
  if (coverage.repeats > 0)
    parts.push_back(fmt::format("{} repeats left out by -f", coverage.repeats));
  if (coverage.not_selected > 0) {
    parts.push_back(fmt::format("{} not selected by --only", coverage.not_selected));
  }
  if (coverage.other_shards > 0) {
    parts.push_back(fmt::format("{} left to other shards", coverage.other_shards));
  }
  return parts;
}

// The call that the next command is about.
std::optional<std::size_t> first_to_look_at(const report::Answer& answer) {
  if (!answer.cards.empty()) return answer.cards.front().worst_call;
  if (!answer.raised.empty()) return answer.raised.front().first_call;
  return std::nullopt;
}

}  // namespace

void declare_shown_options(cli::Parser& command, ShownOptions& options) {
  command.group("Output");
  command.flag("-q,--quiet", options.quiet, "show only the calls that fail, and the answer");
  command.flag("-v,--verbose", options.verbose,
               "also show the log lines, flagged and inconclusive calls, and the counts by reason");
  declare_json(command, options.json);
  declare_workbook(command, options.report);
}

CheckOutput::CheckOutput(ShownOptions shown, documented::VerdictOptions verdict,
                         const std::string& label)
    : shown_(std::move(shown)), verdict_(std::move(verdict)), bar_(label) {
  const terminal::Screen out = terminal::screen_of(STDOUT_FILENO);
  const terminal::Screen errors = terminal::screen_of(STDERR_FILENO);
  const bool json_printed = shown_.json == "true";
  answer_ = json_printed ? stderr : stdout;
  screen_ = json_printed ? errors : out;
  if (!shown_.verbose) log::only_warnings();
}

void CheckOutput::expect_several(fs::path out) { several_ = std::move(out); }

void CheckOutput::cannot(const Error& error) {
  bar_.clear();
  ++not_checked_;
  worst_ = refuse(error);
}

void CheckOutput::watch(check::CheckOptions& options, const std::string& title) {
  start_ = std::chrono::steady_clock::now();
  title_ = title;
  repeated_ = 0;
  earlier_failures_.merge(failures_);
  failures_.clear();
  device_library_ = options.request.engine.device_library;
  lines_ = 0;
  whole_results_ = !options.request.only.empty();
  live_.reset();
  if (options.request.resume_csv.empty()) {
    live_ = std::make_unique<report::LiveRun>(options.dump);
    live_->run().rerun = options.rerun.from_anywhere(options.working_directory);
  }
  options.judged = [this](const check::JudgedCall& judged) { show_call(judged); };
  options.say = [this](log::Severity level, const std::string& text) {
    // Why a call is skipped: its line says it, or the count of the answer.
    const bool wants_log = shown_.verbose || log::level_was_asked_for();
    if (level == log::Severity::kError && !wants_log) return;
    bar_.clear();
    log::write(level, text);
  };
  options.compares_cpu_with_itself = [this] {
    if (std::exchange(said_cpu_, true)) return;
    const terminal::Field said{
        "no accelerator found: the CPU is compared with itself, which says nothing about a device; "
        "name one with -d (npu:0, cuda:0), or try -d sim, a simulated one",
        terminal::Paint::kYellow};
    print(terminal::flow({&said, 1}, 1, 2, style()));
  };
  options.show_progress = [this](std::size_t done, std::size_t total) {
    if (!shown_.quiet) bar_.show(done, total, failed_);
  };
}

terminal::Style CheckOutput::style() const {
  return {.columns = screen_.columns, .colour = screen_.colour};
}

void CheckOutput::print(const std::string& text) {
  bar_.clear();
  fmt::print(answer_, "{}", text);
  std::fflush(answer_);
}

// A wrong kernel is usually wrong in every step and on every rank: one line says it.
bool CheckOutput::was_shown_before(const report::ReportCall& call, Mark mark) {
  if (!several_) return false;
  const std::string failure = fmt::format("{}\n{}\n{}", call.name, static_cast<int>(mark),
                                          report::cause_name(live_->run(), call));
  failures_.insert(failure);
  if (!earlier_failures_.contains(failure)) return false;
  ++repeated_;
  return true;
}

void CheckOutput::show_call(const check::JudgedCall& judged) {
  for (const documented::DetailRow& row : judged.details) {
    if (row.explanation.empty()) continue;
    explanations_ += fmt::format("{}\n{}\n", row.api_name, row.explanation);
  }
  if (!live_) return;
  const report::ReportCall* call = live_->add(judged.result, judged.details);
  const Mark mark = call == nullptr ? Mark::kNone : terminal::mark_of(*call);
  if (mark == Mark::kNone) return;
  failed_ += mark == Mark::kFail || mark == Mark::kLost || mark == Mark::kRaised ? 1 : 0;
  if (whole_results_ || !(shown_.verbose || terminal::has_line(mark, verdict_.fail_on()))) return;
  if (was_shown_before(*call, mark)) return;
  const bool all = !screen_.is_terminal || shown_.quiet;
  if (++lines_ > kMostLines && !all) return;
  print(terminal::call_line(live_->run(), *call, style()));
  if (lines_ == kMostLines && !all) print("further calls are only counted\n");
}

// A run that was continued or merged has rows that nobody saw.
Result<report::ReportRun> CheckOutput::read_back(const check::CheckOutcome& outcome) const {
  Result<std::vector<report::ReportRun>> runs = read_runs({.csvs = {outcome.paths.details},
                                                           .dump = {},
                                                           .verdict = verdict_,
                                                           .device_library = device_library_});
  if (!runs) return propagate(runs);
  return std::move(runs->front());
}

void CheckOutput::end(const check::CheckOutcome& outcome, const std::string& more) {
  bar_.clear();
  Done done{.title = title_,
            .outcome = outcome,
            .status = status_of(outcome, verdict_.fail_on()),
            .run = {}};
  done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  say_end(outcome, done.status, title_);
  // The documents show `more`.
  std::string counts = more;
  if (shown_.verbose) {
    counts = fmt::format("{}{}\n{}", title_.empty() ? "" : visible_line(title_) + ": ",
                         check::coverage_line(outcome.coverage), more);
  }
  if (!counts.empty()) print(counts);
  if (live_ && !live_->problem().empty()) {
    log::warning("some calls are shown without their source line: {}", live_->problem());
  }
  if (live_) done.run = std::move(live_->run());
  live_.reset();
  const Result<void> completed = complete(done);
  if (!completed) cannot(completed.error());
  done.has_answer = completed && !outcome.interrupted;
  worst_ = std::max(worst_, done.status);
  if (several_ && done.has_answer) show_answer(done);
  done_.push_back(std::move(done));
}

std::vector<std::string> CheckOutput::worst_calls(std::size_t most) const {
  if (done_.empty()) return {};
  const report::ReportRun& run = done_.back().run;
  std::vector<std::string> names;
  for (const report::CauseCard& card : report::answer_of(run).cards) {
    if (names.size() < most) names.push_back(run.calls[card.worst_call].name);
  }
  return names;
}

// Reads the CSV back unless the calls were seen live; always with --only.
Result<void> CheckOutput::complete(Done& done) const {
  const bool was_watched = !done.run.calls.empty() || !done.run.passed_apis.empty();
  if (done.outcome.interrupted || (was_watched && !whole_results_)) return {};
  Result<report::ReportRun> run = read_back(done.outcome);
  if (!run) return propagate(run);
  done.run = std::move(*run);
  return {};
}

std::string CheckOutput::json_summary(ExitStatus status) const {
  std::vector<CheckSummary> parts;
  for (const Done& done : done_) {
    parts.push_back({done.title, done.outcome, done.status, verdict_.fail_on(), done.run});
  }
  return several_ ? checks_json(parts, status) : check_json(parts.front());
}

// One page for all; empty: none is asked for.
fs::path CheckOutput::page() const {
  if (done_.empty()) return {};
  const fs::path& details = done_.front().outcome.paths.details;
  return report::page_path(shown_.report, several_ ? *several_ / details.filename() : details);
}

Result<void> CheckOutput::write_files() const {
  if (!shown_.report.any()) return {};
  ReportJob job{.csvs = {}, .dump = {}, .verdict = verdict_, .device_library = device_library_};
  for (const Done& done : done_) {
    if (done.outcome.interrupted) continue;
    job.csvs.push_back(done.outcome.paths.details);
    if (several_) job.places.push_back(done.title);
  }
  if (job.csvs.empty()) return {};
  const fs::path& first = job.csvs.front();
  const Result<void> workbook =
      write_job_workbook(shown_.report, job, several_ ? *several_ / first.filename() : first);
  if (!workbook) return workbook;
  const Result<std::vector<report::ReportRun>> runs = read_runs(job);
  if (!runs) return propagate(runs);
  return write_runs(shown_.report, *runs, page(), verdict_.fail_on());
}

// The script of a call that was shrunk, or the command that shrinks it.
std::string CheckOutput::next_command(const Done& done, const std::string& call) const {
  const fs::path script =
      report::scripts_directory(done.outcome.paths.details) / call / "reproduce.py";
  std::error_code error;
  if (fs::is_regular_file(script, error)) {
    return fmt::format("python3 {}", shell_path(shown_path(script)));
  }
  const CallCommand shrink = done.run.rerun.as_shrink();
  return (shrink.empty() ? done.run.rerun : shrink).text_for(call);
}

terminal::Closing CheckOutput::closing_of(const Done& done, const report::Answer& answer) const {
  terminal::Closing closing = terminal::closing_of(done.run);
  closing.device = done.outcome.device.empty() ? done.run.title : done.outcome.device;
  closing.seconds = done.seconds;
  closing.failed = done.status != kPassed;
  const bool strict_fails =
      !answer.apis.empty() || !answer.raised.empty() || closing.slight + closing.lost > 0;
  if (by_documents(verdict_.fail_on()) && closing.failed != strict_fails) {
    closing.decided_by = "--fail-on " + verdict_.fail_on_name;
  }
  closing.left_out = left_out(done.outcome.coverage);
  return closing;
}

void CheckOutput::say_what_repeats(const Done& done, const report::Answer& answer,
                                   terminal::Closing& closing) {
  if (done.status == kPassed || failures_.empty()) return;
  const std::string findings =
      fmt::format("{}\n{}", terminal::finding_text(answer, closing), fmt::join(failures_, "\n"));
  const auto [first, is_new] = first_with_.try_emplace(findings, done.title);
  if (!is_new) {
    closing.same_as = first->second;
  } else if (repeated_ > 0) {
    print(fmt::format("{} call{} as in an earlier dump\n", repeated_,
                      repeated_ == 1 ? " fails" : "s fail"));
  }
}

void CheckOutput::show_whole_results(const report::ReportRun& run) {
  const bool all = run.calls.size() <= kMostWhole && !shown_.quiet;
  std::size_t shown = 0;
  for (const report::ReportCall& call : run.calls) {
    const Mark mark = terminal::mark_of(call);
    const bool fails = mark != Mark::kNone && terminal::has_line(mark, verdict_.fail_on());
    if (!(all || fails) || shown == kMostWhole) continue;
    print(terminal::call_result(run, call, style()));
    ++shown;
  }
  const std::size_t others = run.calls.size() - shown;
  if (others > 0 && !shown_.quiet) {
    print(
        fmt::format("and {} more call{}, which --report shows\n", others, others == 1 ? "" : "s"));
  }
}

void CheckOutput::show_answer(const Done& done) {
  const report::Answer answer = report::answer_of(done.run);
  terminal::Closing closing = closing_of(done, answer);
  if (several_) {
    closing.device = fmt::format("{}, {}", done.title, closing.device);
    say_what_repeats(done, answer, closing);
  } else {
    closing.results = shown_path(done.outcome.paths.result);
    const fs::path report = report::page_path(shown_.report, done.outcome.paths.details);
    closing.report = report.empty() ? "" : shown_path(report);
    closing.summary = json_path_;
    const std::optional<std::size_t> first = first_to_look_at(answer);
    if (!whole_results_ && first) {
      closing.next = next_command(done, done.run.calls[*first].name);
      if (shown_.report.html.empty()) {
        closing.report = fmt::format("msprobe report {}", shell_path(closing.results));
      }
    }
  }
  if (whole_results_) show_whole_results(done.run);
  print(std::exchange(explanations_, {}));
  // What was printed line by line needs no second list of the same.
  const bool listed = answer.cards.size() + answer.raised.size() <= 1 && lines_ <= 1;
  if (!several_ && !whole_results_ && !listed) {
    print("\n" + terminal::worst_groups(done.run, answer, style()));
  }
  print(terminal::closing_text(answer, closing, style()));
}

// Over all dumps: the causes, one sentence, and how many dumps are right.
void CheckOutput::show_overall(ExitStatus status) {
  std::vector<const report::ReportRun*> runs;
  std::vector<const Done*> of_call;  // the dump that a call of the runs is of
  std::size_t good = 0;
  double seconds = 0;
  for (const Done& done : done_) {
    good += done.status == kPassed ? 1 : 0;
    seconds += done.seconds;
    runs.push_back(&done.run);
    of_call.insert(of_call.end(), done.run.calls.size(), &done);
  }
  const report::Overall overall = report::overall_of(runs);
  terminal::Closing closing = terminal::closing_of(overall.run);
  closing.device = fmt::format("all {} dumps, {}", done_.size(), done_.front().outcome.device);
  closing.seconds = seconds;
  closing.failed = status != kPassed;
  closing.results = shown_path(*several_);
  closing.report = shown_.report.html.empty() ? "" : shown_path(page());
  closing.summary = json_path_;
  const std::optional<std::size_t> first = first_to_look_at(overall.answer);
  if (!whole_results_ && first) {
    closing.next = next_command(*of_call[*first], overall.run.calls[*first].name);
    if (closing.report.empty()) {
      closing.report = fmt::format("msprobe report {}", shell_path(closing.results));
    }
  }
  print("\n");
  if (!whole_results_) print(terminal::worst_groups(overall.run, overall.answer, style()));
  std::string counts = fmt::format("{} of {} dumps OK", good, done_.size() + not_checked_);
  if (not_checked_ > 0) counts += fmt::format(", {} could not be checked", not_checked_);
  const terminal::Field said{counts,
                             status == kPassed ? terminal::Paint::kGreen : terminal::Paint::kRed};
  print(terminal::flow({&said, 1}, 1, 2, style()));
  print(terminal::closing_text(overall.answer, closing, style()));
}

ExitStatus CheckOutput::close() {
  if (done_.empty()) return worst_;
  if (!shown_.json.empty()) {
    const Result<void> written = write_json(shown_.json, json_summary(worst_));
    if (!written) return refuse(written.error());
    if (shown_.json != "true") json_path_ = shown_path(shown_.json);
  }
  // An interrupted check is continued first.
  if (!several_ && done_.front().outcome.interrupted) return worst_;
  if (const Result<void> written = write_files(); !written) return refuse(written.error());
  if (several_) {
    // Of an interrupted check, not all dumps were seen.
    if (!done_.back().outcome.interrupted) show_overall(worst_);
  } else if (done_.front().has_answer) {
    show_answer(done_.front());
  }
  return worst_;
}

}  // namespace msprobe::app
