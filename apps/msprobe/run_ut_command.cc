// SPDX-License-Identifier: Apache-2.0
// msprobe run_ut: the check of the older recorder's files, by the older rule.
#include <memory>

#include "check_command.h"
#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/log.h"
#include "dump/legacy_json.h"

namespace msprobe::app {
namespace {

// A call may be named as the files name it.
void take_full_names(std::vector<std::string>& names) {
  for (std::string& name : names) {
    if (const auto key = dump::parse_legacy_key(name)) name = key->full_name;
  }
}

}  // namespace

Run declare_run_ut(cli::Parser& command) {
  auto arguments = std::make_shared<CheckArguments>();
  declare_run_ut_options(command, *arguments);
  declare_jobs(command, arguments->request.workers);
  return [arguments] {
    if (arguments->request.older.forward.empty() || arguments->request.older.backward.empty()) {
      return refuse({ErrorKind::kUsage,
                     "run_ut needs both files: -forward forward_info_0.json -backward "
                     "backward_info_0.json"});
    }
    if (arguments->request.devices.size() > 1) {
      log::warning("run_ut uses the first device, {}", arguments->request.devices.front());
      arguments->request.devices.resize(1);
    }
    take_full_names(arguments->request.only);
    return run_check_command(*arguments);
  };
}

}  // namespace msprobe::app
