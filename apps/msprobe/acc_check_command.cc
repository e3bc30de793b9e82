// SPDX-License-Identifier: Apache-2.0
// msprobe acc_check: replay every recorded call, forward and backward, on one device.
#include <memory>

#include "check_command.h"
#include "cli/parser.h"
#include "command.h"
#include "core/log.h"

namespace msprobe::app {

Run declare_acc_check(cli::Parser& command) {
  auto arguments = std::make_shared<CheckArguments>();
  declare_check_options(command, *arguments);
  declare_jobs(command, arguments->request.workers);
  return [arguments] {
    if (arguments->request.devices.size() > 1) {
      log::warning("acc_check uses the first device, {}; multi_acc_check uses all of them",
                   arguments->request.devices.front());
      arguments->request.devices.resize(1);
    }
    return run_check_command(*arguments);
  };
}

}  // namespace msprobe::app
