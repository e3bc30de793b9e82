// SPDX-License-Identifier: Apache-2.0
// msprobe compare: two dumps of a model, item by item, or two graph-mode dumps, operator by
// operator. The input decides which.
#include "compare_command.h"

#include <filesystem>
#include <memory>

#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/log.h"
#include "dump_compare/inputs.h"

namespace msprobe::app {
namespace {

// Graph-mode dumps are directories without any dump.json.
bool is_torchair(const CompareCommand& options) {
  if (options.mode == "torchair") return true;
  std::error_code ignored;
  return std::filesystem::is_directory(options.target, ignored) &&
         std::filesystem::is_directory(options.golden, ignored) &&
         !dump_compare::has_dumps(options.target) && !dump_compare::has_dumps(options.golden);
}

ExitStatus run(const CompareCommand& options) {
  if (options.nan) return run_nonfinite_search(options);
  if (options.golden.empty()) {
    return refuse(
        {ErrorKind::kUsage, "name the dump to compare with: msprobe compare TARGET GOLDEN"});
  }
  return is_torchair(options) ? run_torchair_compare(options) : run_dump_compare(options);
}

void declare_dump_options(cli::Parser& command, CompareCommand& options) {
  command.group("Matching");
  command.flag("-fm,--fuzzy_match", options.fuzzy,
               "pair calls by their place in the sequence and ignore their numbers");
  command
      .value("-dm,--data_mapping", options.data_mapping,
             "file with lines \"target item name: golden item name\"")
      .named("YAML");
  command.flag("-cm,--cell_mapping", options.cell_mapping,
               "pair cells with modules; with FILE also modules of other names (lines "
               "\"path.Class: path.Class\")");
  command
      .value("-lm,--layer_mapping", options.layer_mapping,
             "file of modules with other paths: per class, lines \"path: path\"")
      .named("YAML");
  command.flag("-am,--api_mapping", options.api_mapping,
               "MindSpore beside PyTorch: pair APIs by the built-in table (always so); FILE has "
               "further ones (ms_api, pt_api)");
  command
      .value("--config", options.config, "matrices to multiply tensors with before the comparison")
      .named("YAML");
  command.group("Output");
  command.flag("-da,--diff_analyze", options.diff_analyze,
               "write where the two runs diverge to diff_analyze_{time}.json");
  command.flag("-tensor_log,--is_print_compare_log", options.log_rows,
               "log every row of a comparison of real data");
  command.value("--stack-mode", options.stack, "column of stacks; auto: if there is a stack.json")
      .one_of({"auto", "on", "off"})
      .shows_default();
  command.value("--stack-json", options.stack_json, "stack.json, if it is not beside the target")
      .named("FILE");
  command.value("--suffix", options.suffix, "text to add to the names of the tables");
}

void declare_torchair_options(cli::Parser& command, CompareCommand& options) {
  command.group("Graph-mode dumps (TorchAir)");
  command.value("--data-mode", options.data_mode, "data to compare; auto: what the files contain")
      .one_of(torchair_data_mode_names())
      .shows_default();
  command
      .value("--stat-limit", options.stat_limit,
             "statistics: relative difference above which a tensor fails")
      .not_negative()
      .shows_default();
  command.value("--fx-token-offset", options.fx_token_offset,
                "offset of FX token directories to the real token (default: detected "
                "automatically)");
  command.value("--rank", options.rank, "compare this rank only").not_negative();
}

}  // namespace

Run declare_compare(cli::Parser& command) {
  auto options = std::make_shared<CompareCommand>();
  command.group(kMostUsed);
  command
      .value("TARGET,-tp,--target_path", options->target,
             "dump.json, directory of ranks or steps; or GE dump (msprobe_ge_dump)")
      .named("PATH")
      .required();
  command
      .value("GOLDEN,-gp,--golden_path", options->golden,
             "the same for the run to compare with; or FX dump (msprobe_fx_dump, data_dump), GE "
             "dump with fusion off")
      .named("PATH");
  command
      .value("-o,--output_path", options->out,
             "directory for the tables (default: ./output; graph-mode dumps: ./)")
      .named("DIR");
  declare_report_options(command, options->report);
  command.group(kMostUsed);
  command.flag("--nan", options->nan,
               "only find where NaN and infinities come from in TARGET; needs no golden dump");
  command.group("Input");
  command.value("-m,--mode", options->mode, "kind of the dumps; auto: detected automatically")
      .one_of({"auto", "torchair"})
      .shows_default();
  command.value("--threads", options->threads, "threads").between(1, 256);
  command.group("Output");
  command.flag("--xlsx", options->xlsx, "also write the tables as xlsx, with coloured rows");
  command.value("--json", options->json, "write every row as JSON").named("FILE");
  declare_dump_options(command, *options);
  declare_torchair_options(command, *options);
  return [options] { return run(*options); };
}

}  // namespace msprobe::app
