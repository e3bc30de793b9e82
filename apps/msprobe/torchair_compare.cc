// SPDX-License-Identifier: Apache-2.0
// msprobe compare on graph-mode dumps, operator by operator.
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "common_options.h"
#include "compare_command.h"
#include "core/log.h"
#include "core/path_check.h"
#include "core/shrunken_file.h"
#include "progress_bar.h"
#include "timestamp.h"
#include "torchair/graph_compare.h"
#include "torchair/graph_output.h"
#include "torchair/graph_report.h"
#include "torchair/graph_summary.h"

namespace msprobe::app {

namespace {

using torchair::GraphMode;

const std::map<std::string, std::optional<GraphMode>>& torchair_data_modes() {
  static const std::map<std::string, std::optional<GraphMode>> kModes{
      {"auto", std::nullopt},
      {"real", GraphMode::kReal},
      {"statistics", GraphMode::kStatistics},
      {"md5", GraphMode::kMd5}};
  return kModes;
}

std::string_view mode_text(GraphMode mode) {
  switch (mode) {
    case GraphMode::kStatistics:
      return "statistics";
    case GraphMode::kMd5:
      return "MD5 (CRC-32)";
    case GraphMode::kReal:
      break;
  }
  return "real data";
}

void log_plan(const torchair::UnitPlan& plan, GraphMode mode) {
  for (const std::string& note : plan.notes) log::warning("{}", note);
  for (const std::string& text : plan.left_out) log::warning("{}", text);
  log::info("comparing {}: {} of {} token directories", mode_text(mode),
            plan.bench_is_fx ? "GE against FX" : "GE against GE", plan.pairs.size());
  if (plan.fx_token_offset) {
    log::info("FX token directories count {} (--fx-token-offset changes it)",
              *plan.fx_token_offset == 0
                  ? "from the real token"
                  : fmt::format("{} more than the real token", *plan.fx_token_offset));
  }
}

ExitStatus exit_status(const torchair::CompareTotals& totals) {
  if (totals[torchair::Outcome::kPass] + totals[torchair::Outcome::kError] == 0 &&
      totals[torchair::Outcome::kSkipped] == 0) {
    log::error("nothing was compared: {} tensors, none with a counterpart and a verdict",
               totals.rows);
    return kCannot;
  }
  return totals[torchair::Outcome::kError] + totals[torchair::Outcome::kSkipped] + totals.unread > 0
             ? kFailed
             : kPassed;
}

Result<torchair::GraphCompareOptions> compare_options(const CompareCommand& options) {
  const Result<std::filesystem::path> target = check_input_directory(options.target);
  if (!target) return propagate(target);
  const Result<std::filesystem::path> golden = check_input_directory(options.golden);
  if (!golden) return propagate(golden);
  if (*target == *golden) {
    return fail(ErrorKind::kUsage, "--target_path and --golden_path are the same directory");
  }
  torchair::GraphCompareOptions job;
  job.plan = {*target, *golden, options.rank, options.fx_token_offset};
  job.mode = torchair_data_modes().at(options.data_mode);
  job.limits.statistics = options.stat_limit;
  job.threads = options.threads;
  job.places = !options.json.empty();
  return job;
}

}  // namespace

std::vector<std::string> torchair_data_mode_names() {
  std::vector<std::string> names;
  for (const auto& [name, mode] : torchair_data_modes()) names.push_back(name);
  return names;
}

ExitStatus run_torchair_compare(const CompareCommand& options) {
  const Result<torchair::GraphCompareOptions> job = compare_options(options);
  if (!job) return refuse(job.error());
  const Result<std::filesystem::path> out =
      prepare_output_directory(options.out.empty() ? "./" : options.out);
  if (!out) return refuse(out.error());

  const torchair::GraphFiles files{*out, local_timestamp(), options.xlsx, options.json,
                                   options.rank.has_value()};
  ProgressBar bar("Comparing (MiB)");
  torchair::GraphSummary summary;
  std::optional<torchair::GraphReport> report;
  if (options.report.any()) report.emplace(*job);
  torchair::UnitPlan plan;
  GraphMode mode = GraphMode::kReal;
  std::optional<Result<torchair::GraphOutput>> output;
  torchair::GraphCompareEvents events;
  events.on_plan = [&](const torchair::UnitPlan& made, GraphMode found) {
    plan = made;
    mode = found;
    log_plan(plan, mode);
    output.emplace(torchair::GraphOutput::start(files, plan, mode));
  };
  std::string first_unreadable;
  events.on_row = [&](const torchair::TensorRow& row) -> Result<bool> {
    if (!*output) return propagate(*output);
    if (row.outcome == torchair::Outcome::kSkipped && first_unreadable.empty()) {
      first_unreadable =
          fmt::format("{}, {} {}: {}", row.op, name(row.side), row.index, row.reason);
    }
    summary.add(row);
    return (*output)->add(row);
  };
  events.on_op = [&](const torchair::OpRows& op, std::uint32_t number) {
    if (report) report->add(op, number);
  };
  events.on_progress = [&](std::uint64_t done, std::uint64_t total) {
    bar.show(static_cast<std::size_t>(done >> 20), static_cast<std::size_t>(total >> 20));
  };
  events.on_note = [&](const std::string& text) {
    bar.clear();
    log::warning("{}", text);
  };
  events.on_bench_only = [&](const torchair::UnitPair& unit,
                             const std::vector<std::string>& names) {
    if (*output) (*output)->add_bench_only(unit, names);
  };
  install_sigbus_handler();
  const Result<torchair::CompareTotals> totals = torchair::compare(*job, events);
  bar.clear();
  if (!totals) return refuse(totals.error());
  if (!*output) return refuse(output->error());
  const Result<std::vector<std::filesystem::path>> written =
      (*output)->finish(summary.first_difference(), *totals);
  if (!written) return refuse(written.error());
  if ((*totals)[torchair::Outcome::kSkipped] > 0) {
    log::warning("{} of {} tensors cannot be read; the first: {}",
                 (*totals)[torchair::Outcome::kSkipped], totals->rows, first_unreadable);
  }
  fmt::print("{}", summary.text(*totals, mode, log::colour(STDOUT_FILENO)));
  for (const std::filesystem::path& path : *written) {
    log::info("Saved comparing results: {}", path.string());
  }
  if (report) {
    const std::filesystem::path beside =
        *out / fmt::format("compare_report_{}.html", files.timestamp);
    const Result<void> saved =
        write_runs(options.report, std::span(&report->run(), 1), beside, FailOn::kError);
    if (!saved) return refuse(saved.error());
  }
  return exit_status(*totals);
}

}  // namespace msprobe::app
