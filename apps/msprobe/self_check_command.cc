// SPDX-License-Identifier: Apache-2.0
// msprobe self_check: the verdicts against a device whose faults are known.
#include <cstdlib>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/log.h"
#include "core/new_file.h"
#include "core/path_check.h"
#include "engines/engine_process.h"
#include "interrupt.h"
#include "own_files.h"
#include "progress_bar.h"
#include "selfcheck/self_check.h"
#include "selfcheck/tables.h"
#include "tables/text_table.h"
#include "timestamp.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownExceptions = 20;

struct SelfCheckArguments {
  std::string dump;
  std::string out;
  std::string engine;
  std::string json;
  std::string markdown;
  std::vector<std::string> only;
  std::size_t jobs = 1;
};

// A directory of its own that goes when the work is done.
class WorkDirectory {
 public:
  explicit WorkDirectory(const std::string& kept) {
    if (!kept.empty()) {
      path_ = kept;
      return;
    }
    std::string name = (fs::temp_directory_path() / "msprobe_self_check_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return;
    path_ = name;
    remove_ = true;
  }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  ~WorkDirectory() {
    std::error_code error;
    if (remove_) fs::remove_all(path_, error);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  bool remove_ = false;
};

Result<selfcheck::SelfCheckOptions> make_options(const SelfCheckArguments& arguments,
                                                 const fs::path& directory) {
  selfcheck::SelfCheckOptions options;
  const fs::path bundled =
      this_program().parent_path().parent_path() / "share" / "msprobe" / "self_check" / "dump.json";
  const Result<fs::path> dump = check_input_file(
      arguments.dump.empty() ? bundled.string() : arguments.dump, {.suffix = ".json"});
  if (!dump) return propagate(dump);
  options.dump = *dump;
  const Result<fs::path> engine = find_own_engine(arguments.engine);
  if (!engine) return propagate(engine);
  options.engine = *engine;
  const Result<fs::path> out = prepare_output_directory(directory.string());
  if (!out) return propagate(out);
  options.directory = *out;
  options.only = arguments.only;
  options.jobs = arguments.jobs;
  options.timestamp = &local_timestamp;
  return options;
}

void print(const selfcheck::SelfCheckOutcome& outcome) {
  for (const selfcheck::Table& table :
       {selfcheck::score_table(outcome), selfcheck::cause_table(outcome)}) {
    if (!table.rows.empty()) fmt::print("{}\n", tables::render({table.titles, table.rows}, false));
  }
  const std::vector<std::string> lines = selfcheck::exceptions(outcome);
  for (std::size_t i = 0; i < std::min(lines.size(), kShownExceptions); ++i) {
    fmt::print("{}\n", lines[i]);
  }
  if (lines.size() > kShownExceptions) {
    fmt::print("... and {} more\n", lines.size() - kShownExceptions);
  }
}

Result<void> write_text(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  return write_new_file(path, text);
}

std::vector<std::string> broken_promises(const selfcheck::SelfCheckOutcome& outcome) {
  std::vector<std::string> names;
  for (const selfcheck::Score& score : outcome.scores) {
    if (!score.as_promised()) names.push_back(score.scenario.name);
  }
  return names;
}

std::string answer(const selfcheck::SelfCheckOutcome& outcome,
                   const std::vector<std::string>& broken) {
  const std::size_t kept = outcome.scores.size() - broken.size();
  std::string text = fmt::format("{} of {} as promised over {} calls: ", kept,
                                 outcome.scores.size(), outcome.calls);
  if (broken.empty()) {
    std::size_t escaped = 0;
    for (const selfcheck::Score& score : outcome.scores) {
      const bool must_alarm = score.scenario.promise == selfcheck::Promise::kAlarm;
      escaped += must_alarm ? score.escapes.size() : 0;
    }
    text += "every fault that must be noticed was, and correct arithmetic was not flagged";
    return text + (escaped == 0 ? std::string("\n")
                                : fmt::format("; {} single result{} escaped, see below\n", escaped,
                                              escaped == 1 ? "" : "s"));
  }
  return text +
         fmt::format("do not trust the strict status here; look at {}\n", fmt::join(broken, ", "));
}

ExitStatus run(const SelfCheckArguments& arguments) {
  const Interrupt interrupt;
  const WorkDirectory directory(arguments.out);
  Result<selfcheck::SelfCheckOptions> options = make_options(arguments, directory.path());
  if (!options) return refuse(options.error());
  ProgressBar bar("self_check");
  options->interrupt = interrupt.descriptor();
  options->show = [&](const std::string&, std::size_t done, std::size_t total) {
    bar.show(done, total);
  };
  const Result<selfcheck::SelfCheckOutcome> outcome = selfcheck::run(*options);
  bar.clear();
  if (!outcome) return refuse(outcome.error());
  if (outcome->interrupted) {
    log::warning("interrupted");
    return kCannot;
  }
  const std::vector<std::string> broken = broken_promises(*outcome);
  fmt::print("{}\n", answer(*outcome, broken));
  print(*outcome);
  if (const auto written = write_text(arguments.json, selfcheck::json(*outcome)); !written) {
    return refuse(written.error());
  }
  if (const auto written = write_text(arguments.markdown, selfcheck::markdown(*outcome));
      !written) {
    return refuse(written.error());
  }
  return broken.empty() ? kPassed : kFailed;
}

}  // namespace

Run declare_self_check(cli::Parser& command) {
  auto arguments = std::make_shared<SelfCheckArguments>();
  command.group("Input");
  command.value("--dump", arguments->dump, "dump.json to use instead of the bundled one")
      .named("DUMP");
  command.value("--only", arguments->only, "only this profile or fault; may be repeated")
      .named("NAME")
      .repeatable();
  declare_jobs(command, arguments->jobs);
  command
      .value("--engine", arguments->engine,
             "msprobe-engine to start (default: $MSPROBE_ENGINE, else the one beside msprobe)")
      .named("PROGRAM");
  command.group("Output");
  command.value("-o,--out_path", arguments->out, "keep the files of the checks in this directory")
      .named("DIR");
  command.value("--json", arguments->json, "write the scores as JSON").named("FILE");
  command.value("--markdown", arguments->markdown, "write the tables as Markdown").named("FILE");
  return [arguments] { return run(*arguments); };
}

}  // namespace msprobe::app
