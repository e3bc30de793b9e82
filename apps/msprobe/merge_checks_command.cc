// SPDX-License-Identifier: Apache-2.0
// msprobe merge_checks: the shards of one check -> its CSV pair and its verdict.
#include <memory>

#include <fmt/format.h>

#include "check/merge_checks.h"
#include "check_command.h"
#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/log.h"
#include "core/path_check.h"
#include "summary.h"
#include "timestamp.h"

namespace msprobe::app {
namespace {

struct MergeArguments {
  std::vector<std::string> directories;
  std::string out = "./";
  documented::VerdictOptions verdict;
  ShownOptions shown;
};

ExitStatus run(const MergeArguments& arguments) {
  const Result<std::filesystem::path> out = prepare_output_directory(arguments.out);
  if (!out) return refuse(out.error());
  const Result<check::MergeOutcome> merged = check::merge_checks(
      {{arguments.directories.begin(), arguments.directories.end()}, *out, &local_timestamp});
  if (!merged) return refuse(merged.error());
  CheckOutput output(arguments.shown, arguments.verdict);
  log::info("merged {} shards", merged->shards);
  if (arguments.verdict.asks_for_strict() && !merged->coverage.has_strict() &&
      merged->coverage.checked() > 0) {
    return refuse(
        {ErrorKind::kUsage,
         fmt::format("--fail-on {}: these checks have no strict status (profile reference)",
                     arguments.verdict.fail_on_name)});
  }
  check::CheckOutcome outcome;
  outcome.coverage = merged->coverage;
  outcome.paths = merged->paths;
  output.end(outcome);
  return output.close();
}

}  // namespace

Run declare_merge_checks(cli::Parser& command) {
  auto arguments = std::make_shared<MergeArguments>();
  command.group("Input");
  command
      .value("DIR", arguments->directories,
             "directories with the results of the shards: one each, or one for all")
      .required();
  command.group("Output");
  command.value("-o,--out_path", arguments->out, "directory for the two CSVs")
      .named("DIR")
      .shows_default();
  declare_fail_on(command, arguments->verdict, true);
  declare_shown_options(command, arguments->shown);
  return [arguments] { return run(*arguments); };
}

}  // namespace msprobe::app
