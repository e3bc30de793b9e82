// msprobe compare: two dumps of PyTorch, item by item, or two graph-mode dumps, operator by
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
    return refuse({ErrorKind::kUsage, "--golden_path is required (-gp): the dump to compare with"});
  }
  return is_torchair(options) ? run_torchair_compare(options) : run_dump_compare(options);
}

void declare_dump_options(cli::Parser& command, CompareCommand& options) {
  command.flag("--fuzzy_match", options.fuzzy,
               "-fm: pair calls by their place in the sequence, whatever their numbers");
  command.value("--data_mapping", options.data_mapping,
                "-dm: YAML file, target item name: golden item name");
  command.flag("--cell_mapping", options.cell_mapping,
               "-cm: pair cells with modules; with =FILE also modules of other names (YAML, "
               "path.Class: path.Class)");
  command.flag("--diff_analyze", options.diff_analyze,
               "-da: write where the two runs part to diff_analyze_{time}.json");
  command.flag("--is_print_compare_log", options.log_rows,
               "-tensor_log: log every row of a comparison of real data");
  command
      .value("--stack-mode", options.stack,
             "column of stacks: auto (if stack.json is there), on, off")
      .one_of({"auto", "on", "off"})
      .shows_default();
  command.value("--stack-json", options.stack_json, "stack.json, if not beside the target");
  command.value("--suffix", options.suffix, "put into the names of the tables");
  command.flag("--nan", options.nan,
               "only find where NaN and infinities come from in --target_path; no golden dump");
}

void declare_torchair_options(cli::Parser& command, CompareCommand& options) {
  command
      .value("--data-mode", options.data_mode,
             "TorchAir: what is compared; auto: what the files hold")
      .one_of(torchair_data_mode_names())
      .shows_default();
  command
      .value("--stat-limit", options.stat_limit,
             "TorchAir statistics: relative difference above which a tensor fails")
      .not_negative()
      .shows_default();
  command.value("--fx-token-offset", options.fx_token_offset,
                "TorchAir: what FX token directories count more than the real token (found by "
                "itself)");
  command.value("--rank", options.rank, "compare this rank only").not_negative();
}

}  // namespace

Run declare_compare(cli::Parser& command) {
  auto options = std::make_shared<CompareCommand>();
  command
      .value("--target_path", options->target,
             "-tp: dump.json, directory of ranks or steps; or GE dump (msprobe_ge_dump)")
      .required();
  command.value("--golden_path", options->golden,
                "-gp: the same of the run to compare with; or FX dump (msprobe_fx_dump, "
                "data_dump), GE dump with fusion off");
  command.value("-o,--output_path", options->out,
                "directory for the tables [./output; graph-mode dumps: ./]");
  command.value("-m,--mode", options->mode, "auto (the input decides), torchair")
      .one_of({"auto", "torchair"})
      .shows_default();
  command.value("--threads", options->threads, "threads").between(1, 256).shows_default();
  command.flag("--xlsx", options->xlsx, "write the tables as xlsx too, with coloured rows");
  command.value("--json", options->json, "write every row to this file as JSON");
  declare_dump_options(command, *options);
  declare_torchair_options(command, *options);
  declare_report_options(command, options->report);
  return [options] { return run(*options); };
}

}  // namespace msprobe::app
