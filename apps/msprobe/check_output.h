// SPDX-License-Identifier: Apache-2.0
// The output of a check: calls that do not pass as they are found, the answer at the end, the
// summary as JSON, the report. A terminal, a pipe and a log file get the same text.
#pragma once

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "check/run_check.h"
#include "common_options.h"
#include "exit_status.h"
#include "progress_bar.h"
#include "report/live_run.h"
#include "report_options.h"
#include "terminal/call_line.h"
#include "terminal/closing.h"
#include "terminal/screen.h"

namespace msprobe::cli {
class Parser;
}

namespace msprobe::app {

struct ShownOptions {
  bool quiet = false;    // only calls that do not pass, and the sentence
  bool verbose = false;  // the log lines, flagged and inconclusive calls, and the counts too
  std::string json;      // see summary.h
  report::ReportFiles report;
};

// Declares -q, -v, --json, and those of the report.
void declare_shown_options(cli::Parser& command, ShownOptions& options);

class CheckOutput {
 public:
  CheckOutput(ShownOptions shown, documented::VerdictOptions verdict,
              const std::string& label = "Processing");

  // Several dumps are checked one after another; `out` holds the results of all.
  void expect_several(std::filesystem::path out);
  // Lets the check tell what happens. Both must live until end(). `title` is that of one of
  // several: "step1/rank0".
  void watch(check::CheckOptions& options, const std::string& title = {});
  // A check has ended: where its files are, and the coverage. `more` follows the coverage.
  void end(const check::CheckOutcome& outcome, const std::string& more = {});
  // Of the check that ended last: the worst call of each cause, worst first, at most `most`.
  std::vector<std::string> worst_calls(std::size_t most) const;
  // One of several could not be checked.
  void cannot(const Error& error);
  // Summary, report files and answer; the exit status: the worst of all.
  ExitStatus close();

 private:
  struct Done {
    std::string title;
    check::CheckOutcome outcome;
    ExitStatus status = kPassed;
    report::ReportRun run;    // calls that do not pass
    bool has_answer = false;  // it ended, and `run` is complete
    double seconds = 0;
  };
  void show_call(const check::JudgedCall& judged);
  void print(const std::string& text);  // a part of the answer
  terminal::Style style() const;
  Result<report::ReportRun> read_back(const check::CheckOutcome& outcome) const;
  Result<void> complete(Done& done) const;
  std::filesystem::path page() const;
  std::string json_summary(ExitStatus status) const;
  Result<void> write_files() const;
  bool was_shown_before(const report::ReportCall& call, terminal::Mark mark);
  terminal::Closing closing_of(const Done& done, const report::Answer& answer) const;
  void say_what_repeats(const Done& done, const report::Answer& answer, terminal::Closing& closing);
  std::string next_command(const Done& done, const std::string& call) const;
  void show_whole_results(const report::ReportRun& run);
  void show_answer(const Done& done);
  void show_overall(ExitStatus status);

  ShownOptions shown_;
  documented::VerdictOptions verdict_;
  ProgressBar bar_;
  std::FILE* answer_ = stdout;                    // where the answer goes
  terminal::Screen screen_;                       // of that
  std::optional<std::filesystem::path> several_;  // where the results of all are
  ExitStatus worst_ = kPassed;
  std::string title_;
  std::unique_ptr<report::LiveRun> live_;
  bool whole_results_ = false;  // of --only
  std::string device_library_;  // the user's
  std::string json_path_;       // of the summary, once it is written to a file
  std::string explanations_;    // of --explain
  bool said_cpu_ = false;       // that the CPU is compared with itself
  // Of several dumps: what fails and why, in this one and in those before; findings -> the first
  // dump that has them.
  std::set<std::string> failures_, earlier_failures_;
  std::map<std::string, std::string> first_with_;
  std::size_t repeated_ = 0;     // lines that were not shown again
  std::size_t not_checked_ = 0;  // dumps
  std::size_t lines_ = 0;
  std::size_t failed_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<Done> done_;
};

}  // namespace msprobe::app
