// SPDX-License-Identifier: Apache-2.0
// Options and run that acc_check and multi_acc_check share.
#pragma once

#include <string>

#include "check/check_request.h"
#include "check_output.h"
#include "common_options.h"
#include "exit_status.h"

namespace msprobe::cli {
class Parser;
}

namespace msprobe::app {

struct CheckArguments {
  check::CheckRequest request;
  ShownOptions shown;
  bool shrink = false;                        // the worst calls, after the check
  std::string progress_label = "Processing";  // set by the command
};

void declare_check_options(cli::Parser& command, CheckArguments& arguments);

// run_ut has fewer of them, and other input files.
void declare_run_ut_options(cli::Parser& command, CheckArguments& arguments);

ExitStatus run_check_command(const CheckArguments& arguments);

}  // namespace msprobe::app
