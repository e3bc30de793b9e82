// SPDX-License-Identifier: Apache-2.0
// msprobe compare on two dumps of a model: files, or directories of ranks and steps.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "common_options.h"
#include "compare_command.h"
#include "core/log.h"
#include "core/path_check.h"
#include "core/shrunken_file.h"
#include "core/visible_text.h"
#include "dump_compare/comparison_run.h"
#include "nonfinite_output.h"
#include "progress_bar.h"
#include "timestamp.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;

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
  if (command.cell_mapping == report::kBesideResults) {
    options.cell_mapping.emplace();
  } else if (!command.cell_mapping.empty()) {
    Result<dump_compare::CellMapping> mapping =
        dump_compare::read_cell_mapping(command.cell_mapping);
    if (!mapping) return propagate(mapping);
    options.cell_mapping = *std::move(mapping);
  }
  if (!command.layer_mapping.empty()) {
    Result<dump_compare::LayerMapping> mapping =
        dump_compare::read_layer_mapping(command.layer_mapping);
    if (!mapping) return propagate(mapping);
    options.layer_mapping = *std::move(mapping);
  }
  if (command.api_mapping == report::kBesideResults) {
    options.api_mapping.emplace();
  } else if (!command.api_mapping.empty()) {
    Result<dump_compare::ApiMapping> mapping = dump_compare::read_api_mapping(command.api_mapping);
    if (!mapping) return propagate(mapping);
    options.api_mapping = *std::move(mapping);
  }
  return options;
}

// `bar` must outlive the options.
Result<dump_compare::ComparisonOptions> make_options(const CompareCommand& command,
                                                     std::optional<ProgressBar>& bar) {
  dump_compare::ComparisonOptions options;
  Result<dump_compare::DumpCompareOptions> each = base_options(command);
  if (!each) return propagate(each);
  options.each = *std::move(each);
  const Result<fs::path> out =
      prepare_output_directory(command.out.empty() ? "./output" : command.out);
  if (!out) return propagate(out);
  options.out = *out;
  options.target = command.target;
  options.timestamp = local_timestamp();
  options.suffix = command.suffix;
  options.xlsx = command.xlsx;
  options.json = command.json;
  options.log_rows = command.log_rows;
  options.diff_analyze = command.diff_analyze;
  options.for_report = command.report.any();
  options.say = [&bar](log::Severity severity, const std::string& text) {
    if (bar) bar->clear();
    log::write(severity, text);
  };
  options.print = [&bar](const std::string& text) {
    if (bar) bar->clear();
    fmt::print("{}", visible_text(text));
  };
  options.on_pair = [&bar] { bar.emplace("Comparing"); };
  options.show_progress = [&bar](std::uint64_t done, std::uint64_t total) {
    bar->show(done, total);
  };
  return options;
}

ExitStatus status_of(const dump_compare::ComparisonOutcome& outcome) {
  if (outcome.has_failed_pair) return kCannot;
  if (outcome.compared_nothing()) {
    log::error("nothing was compared: {} rows, none with a counterpart", outcome.totals.rows);
    return kCannot;
  }
  return outcome.differs() ? kFailed : kPassed;
}

}  // namespace

ExitStatus run_dump_compare(const CompareCommand& command) {
  const Result<fs::path> target = checked_input(command.target);
  if (!target) return refuse(target.error());
  const Result<fs::path> golden = checked_input(command.golden);
  if (!golden) return refuse(golden.error());
  const Result<dump_compare::DumpPairs> dumps = dump_compare::find_dumps(*target, *golden);
  if (!dumps) return refuse(dumps.error());
  std::optional<ProgressBar> bar;
  const Result<dump_compare::ComparisonOptions> options = make_options(command, bar);
  if (!options) return refuse(options.error());
  install_sigbus_handler();
  const Result<dump_compare::ComparisonOutcome> outcome =
      dump_compare::compare_all(*dumps, *options);
  bar.reset();
  if (!outcome) return refuse(outcome.error());
  if (!outcome->runs.empty()) {
    const fs::path page = options->out / fmt::format("compare_report_{}.html", options->timestamp);
    const Result<void> written = write_runs(command.report, outcome->runs, page, FailOn::kError);
    if (!written) return refuse(written.error());
  }
  return status_of(*outcome);
}

ExitStatus run_nonfinite_search(const CompareCommand& command) {
  const Result<fs::path> path = checked_input(command.target);
  if (!path) return refuse(path.error());
  return show_nonfinite(path->string(), command.json);
}

}  // namespace msprobe::app
