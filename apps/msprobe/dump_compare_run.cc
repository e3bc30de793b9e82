// SPDX-License-Identifier: Apache-2.0
// msprobe compare on two dumps of PyTorch: files, or directories of ranks and steps.
#include <algorithm>
#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "common_options.h"
#include "compare_command.h"
#include "core/json_writer.h"
#include "core/log.h"
#include "core/path_check.h"
#include "core/shrunken_file.h"
#include "diff_analysis.h"
#include "divergence/first_divergence.h"
#include "dump_compare/compare_dumps.h"
#include "dump_compare/divergence_search.h"
#include "dump_compare/dump_report.h"
#include "dump_compare/dump_table.h"
#include "dump_compare/inputs.h"
#include "nonfinite_output.h"
#include "progress_bar.h"
#include "tables/output_file.h"
#include "timestamp.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;
using dump_compare::EntryRows;
using DumpOutcome = dump_compare::Outcome;
using DumpRow = dump_compare::ItemRow;
using dump_compare::Totals;

constexpr std::size_t kShownFailures = 10;

Result<fs::path> checked_input(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? check_input_directory(path)
                                         : check_input_file(path, {".json"});
}

Result<dump_compare::DumpCompareOptions> base_options(const CompareCommand& command) {
  dump_compare::DumpCompareOptions options;
  options.fuzzy = command.fuzzy;
  options.threads = command.threads;
  if (command.stack == "on") options.stack_mode = dump_compare::StackMode::kRequired;
  if (command.stack == "off") options.stack_mode = dump_compare::StackMode::kOff;
  if (!command.stack_json.empty()) {
    const Result<fs::path> path = check_input_file(command.stack_json, {".json"});
    if (!path) return propagate(path);
    options.stack_json = *path;
  }
  if (!command.data_mapping.empty()) {
    Result<dump_compare::DataMapping> mapping =
        dump_compare::read_data_mapping(command.data_mapping);
    if (!mapping) return propagate(mapping);
    options.data_mapping = *std::move(mapping);
  }
  if (!command.config.empty()) {
    Result<dump_compare::MatrixProducts> products =
        dump_compare::MatrixProducts::read(command.config);
    if (!products) return propagate(products);
    options.products = std::make_shared<dump_compare::MatrixProducts>(*std::move(products));
  }
  if (command.cell_mapping == kBesideResults) {
    options.cell_mapping.emplace();
  } else if (!command.cell_mapping.empty()) {
    Result<dump_compare::CellMapping> mapping =
        dump_compare::read_cell_mapping(command.cell_mapping);
    if (!mapping) return propagate(mapping);
    options.cell_mapping = *std::move(mapping);
  }
  return options;
}

// "1304 rows: 1296 pass, 8 warning, 0 error; 3 only in the golden dump"
std::string totals_text(const Totals& totals) {
  std::string text =
      fmt::format("{} rows: {} pass, {} warning, {} error", totals.rows, totals[DumpOutcome::kPass],
                  totals[DumpOutcome::kWarning], totals[DumpOutcome::kError]);
  if (totals[DumpOutcome::kUnmatched] > 0) {
    text += fmt::format(", {} unmatched ({} only in the target, {} only in the golden dump)",
                        totals[DumpOutcome::kUnmatched],
                        totals[DumpOutcome::kUnmatched] - totals.golden_only, totals.golden_only);
  }
  if (totals[DumpOutcome::kSkipped] > 0) {
    text += fmt::format(", {} skipped (data cannot be read)", totals[DumpOutcome::kSkipped]);
  }
  return text;
}

void log_row(const DumpRow& row) {
  if (!row.is_matched()) return;
  using State = dump_compare::RealNumbers::State;
  const dump_compare::RealNumbers& real = row.real;
  log::info("{} compared with {}", dump::item_name(*row.target_entry, *row.target),
            dump::item_name(*row.golden_entry, *row.golden));
  const std::string_view outcome = dump_compare::name(row.outcome);
  switch (real.state) {
    case State::kAll:
      log::info("cosine {}, EucDist {}, MaxAbsErr {}, MaxRelativeErr {}, within 0.001 {}: {}",
                real.cosine, real.euclidean_distance, real.max_abs_error, real.max_relative_error,
                real.within_1000, outcome);
      return;
    case State::kOneElement:
      log::info("MaxAbsErr {}, MaxRelativeErr {}: {}", real.max_abs_error, real.max_relative_error,
                outcome);
      return;
    case State::kShapes:
      log::info("other shapes: {}", outcome);
      return;
    case State::kClasses:
      log::info("NaN or infinities at other places: {}", outcome);
      return;
    case State::kUnsupported:
      log::info("no tensor data to compare: {}", outcome);
  }
}

class DumpComparison {
 public:
  DumpComparison(const CompareCommand& command, dump_compare::DumpCompareOptions options,
                 fs::path out)
      : command_(command), options_(std::move(options)), out_(std::move(out)) {}

  ExitStatus run(const dump_compare::DumpPairs& dumps) {
    for (const std::string& text : dumps.left_out) log::warning("{}", text);
    if (!command_.json.empty()) {
      Result<dump_compare::DumpRowsJson> json = dump_compare::DumpRowsJson::start(command_.json);
      if (!json) return refuse(json.error());
      json_.emplace(*std::move(json));
    }
    for (const dump_compare::DumpPair& pair : dumps.pairs) {
      if (const auto compared = compare_pair(pair); !compared) {
        // Other ranks are compared all the same; the status tells.
        log::error("{}", compared.error().message);
        failed_ = true;
      }
    }
    if (const auto written = write_rest(dumps); !written) return refuse(written.error());
    return exit_status();
  }

 private:
  Result<void> compare_pair(const dump_compare::DumpPair& pair) {
    options_.target = pair.target;
    options_.golden = pair.golden;
    const Result<dump_compare::OpenDumps> dumps = dump_compare::open_dumps(options_);
    if (!dumps) return propagate(dumps);
    dump_compare::DataMode mode = dump_compare::DataMode::kStatistics;
    dump_compare::DumpTable* table = nullptr;
    dump_compare::DumpCompareReport* report = nullptr;
    ProgressBar bar("Comparing");
    dump_compare::DumpCompareEvents events;
    events.on_start = [&](const dump_compare::CompareStart& start) -> Result<void> {
      mode = start.mode;
      bar.clear();
      log::info("comparing {}{}: {} entries with {}", dump_compare::name(mode),
                pair.shown.empty() ? "" : " of " + pair.shown, start.target_entries,
                start.golden_entries);
      const std::string stem =
          fmt::format("compare_result{}{}_{}", command_.suffix, pair.suffix, timestamp_);
      Result<dump_compare::DumpTable> started =
          dump_compare::DumpTable::start(out_, tables::free_stem(out_, stem), command_.xlsx, start);
      if (!started) return propagate(started);
      table = &tables_.emplace_back(pair, *std::move(started)).table;
      if (command_.report.any()) {
        report = &reports_.emplace_back(pair, start, as_given(pair.target));
        search_.keep_flow();
      }
      search_.start(pair, as_given(pair.target), start);
      return finish_tables(pair.step);
    };
    events.on_block = [&](std::span<const EntryRows> block) -> Result<void> {
      search_.add(block, mode, command_.threads);
      return json_ ? json_->add(pair, mode, block, command_.threads) : Result<void>();
    };
    events.on_rows = [&](const EntryRows& rows) -> Result<void> {
      if (report != nullptr) report->add(rows);
      for (const DumpRow& row : rows.rows) {
        keep_failure(pair, row);
        if (command_.log_rows && mode == dump_compare::DataMode::kReal) log_row(row);
      }
      return table->add(rows);
    };
    events.on_progress = [&](std::uint64_t done, std::uint64_t total) {
      bar.show(done, std::max(done, total));
    };
    events.on_note = [&](const std::string& text) {
      bar.clear();
      log::warning("{}", text);
    };
    const Result<Totals> totals = dump_compare::compare(*dumps, options_, events);
    bar.clear();
    if (!totals) {
      if (table != nullptr) tables_.pop_back();
      return propagate(totals);
    }
    dump_compare::add(totals_, *totals);
    if (!pair.shown.empty()) fmt::print("{}: {}\n", pair.shown, totals_text(*totals));
    return {};
  }

  // The tables of the steps before `step`: where they part is known.
  Result<void> finish_tables(std::int64_t step) {
    while (!tables_.empty() && tables_.front().pair.step != step) {
      OpenTable open = std::move(tables_.front());
      tables_.pop_front();
      const Result<std::vector<fs::path>> written =
          open.table.finish([&](std::string_view entry) { return search_.role(open.pair, entry); });
      if (!written) return propagate(written);
      written_.insert(written_.end(), written->begin(), written->end());
      table_files_[{open.pair.step, open.pair.rank}] = *written;
    }
    return {};
  }

  // The dump as the user named it: commands that are printed work where this one did.
  std::string as_given(const fs::path& dump) const {
    std::error_code ignored;
    if (!fs::is_directory(command_.target, ignored)) return command_.target;
    const fs::path below = fs::relative(dump, fs::canonical(command_.target, ignored), ignored);
    return ignored ? dump.string() : (fs::path(command_.target) / below).string();
  }

  void keep_failure(const dump_compare::DumpPair& pair, const DumpRow& row) {
    if (row.outcome != DumpOutcome::kError && row.outcome != DumpOutcome::kSkipped) return;
    if (failures_.size() == kShownFailures) return;
    failures_.push_back(fmt::format("  {}{}: {}", pair.shown.empty() ? "" : pair.shown + ": ",
                                    dump::item_name(*row.target_entry, *row.target),
                                    row.messages.empty()
                                        ? std::string(dump_compare::name(row.outcome))
                                        : row.messages.front()));
  }

  std::string json_tail(const dump_compare::DumpPairs& dumps) const {
    JsonWriter json;
    json.begin_object();
    json.key("summary").begin_object();
    json.key("rows").value(totals_.rows);
    for (std::size_t i = 0; i < dump_compare::kOutcomes; ++i) {
      json.key(dump_compare::name(static_cast<DumpOutcome>(i))).value(totals_.outcomes[i]);
    }
    json.key("golden_only").value(totals_.golden_only);
    json.end_object();
    json.key("left_out").begin_array();
    for (const std::string& text : dumps.left_out) json.value(text);
    json.end_array();
    write_divergence(json);
    json.end_object();
    return json.text();
  }

  void write_divergence(JsonWriter& json) const {
    if (search_.report()) {
      json.key("step").value(search_.step());
      divergence::write_json(*search_.report(), json);
    } else {
      json.key("first_divergence").null();
    }
  }

  // -da: the calls where the runs part, with their rows, as the public tool lays them out.
  Result<void> write_analysis() {
    const auto tables_of = [this](int rank) {
      std::vector<fs::path> csv = table_files_[{search_.step(), rank}];
      std::erase_if(csv, [](const fs::path& path) { return path.extension() != ".csv"; });
      return csv;
    };
    const Result<std::string> text = search_.report() ? analysis_json(*search_.report(), tables_of)
                                                      : Result<std::string>("{}\n");
    if (!text) return propagate(text);
    const fs::path path = out_ / fmt::format("diff_analyze_{}.json", timestamp_);
    Result<tables::OutputFile> file = tables::OutputFile::create(path);
    if (!file) return propagate(file);
    file->buffer() += *text;
    if (const auto done = file->commit(); !done) return propagate(done);
    written_.push_back(path);
    return {};
  }

  Result<void> write_rest(const dump_compare::DumpPairs& dumps) {
    if (!failures_.empty()) {
      fmt::print("first rows that fail:\n");
      for (const std::string& line : failures_) fmt::print("{}\n", line);
    }
    if (!failed_ || totals_.rows > 0) fmt::print("{}\n", totals_text(totals_));
    search_.finish();
    constexpr std::int64_t kNoStep = -1;
    if (const auto done = finish_tables(kNoStep); !done) return propagate(done);
    for (dump_compare::DumpCompareReport& report : reports_) report.complete(search_);
    if (search_.report()) {
      const std::string text = divergence::describe(*search_.report());
      fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
      const auto& first = search_.report()->first;
      for (dump_compare::DumpCompareReport& report : reports_) {
        if (first && report.is_of(search_.step(), first->rank)) {
          report.set_first_divergence(first->target, text.substr(0, text.find('\n')));
        }
      }
    }
    if (command_.diff_analyze) {
      if (const auto done = write_analysis(); !done) return propagate(done);
    }
    if (json_) {
      if (const auto done = json_->finish(json_tail(dumps)); !done) return propagate(done);
      written_.emplace_back(command_.json);
    }
    for (const fs::path& path : written_) log::info("Saved comparing results: {}", path.string());
    if (reports_.empty()) return {};
    std::vector<report::ReportRun> runs;
    for (const dump_compare::DumpCompareReport& report : reports_) runs.push_back(report.run());
    return write_runs(command_.report, runs,
                      out_ / fmt::format("compare_report_{}.html", timestamp_), "error");
  }

  ExitStatus exit_status() const {
    if (failed_) return kCannot;
    if (totals_.compared() == 0 && totals_[DumpOutcome::kSkipped] == 0) {
      log::error("nothing was compared: {} rows, none with a counterpart", totals_.rows);
      return kCannot;
    }
    return totals_[DumpOutcome::kError] + totals_[DumpOutcome::kSkipped] > 0 ? kFailed : kPassed;
  }

  struct OpenTable {
    dump_compare::DumpPair pair;
    dump_compare::DumpTable table;
  };

  const CompareCommand& command_;
  dump_compare::DumpCompareOptions options_;
  fs::path out_;
  std::string timestamp_ = local_timestamp();
  std::optional<dump_compare::DumpRowsJson> json_;
  std::list<OpenTable> tables_;
  dump_compare::DivergenceSearch search_;
  std::list<dump_compare::DumpCompareReport> reports_;
  std::vector<std::string> failures_;
  std::vector<fs::path> written_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<fs::path>> table_files_;
  Totals totals_;
  bool failed_ = false;
};

}  // namespace

ExitStatus run_dump_compare(const CompareCommand& command) {
  const Result<fs::path> target = checked_input(command.target);
  if (!target) return refuse(target.error());
  const Result<fs::path> golden = checked_input(command.golden);
  if (!golden) return refuse(golden.error());
  const Result<dump_compare::DumpPairs> dumps = dump_compare::find_dumps(*target, *golden);
  if (!dumps) return refuse(dumps.error());
  Result<dump_compare::DumpCompareOptions> options = base_options(command);
  if (!options) return refuse(options.error());
  const Result<fs::path> out =
      prepare_output_directory(command.out.empty() ? "./output" : command.out);
  if (!out) return refuse(out.error());
  install_sigbus_handler();
  return DumpComparison(command, *std::move(options), *out).run(*dumps);
}

ExitStatus run_nonfinite_search(const CompareCommand& command) {
  const Result<fs::path> path = checked_input(command.target);
  if (!path) return refuse(path.error());
  return show_nonfinite(path->string(), command.json);
}

}  // namespace msprobe::app
