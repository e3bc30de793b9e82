// SPDX-License-Identifier: Apache-2.0
// A command is a row: its name, what it is for, and the function that declares its options and what
// runs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "exit_status.h"

namespace msprobe::cli {
class Parser;
}

namespace msprobe::engines {
class Hosts;
}

namespace msprobe::app {

using Run = std::function<ExitStatus()>;

enum class CommandGroup : std::uint8_t { kStartHere, kMore, kOlderName };

struct Command {
  CommandGroup group;
  std::string_view name;
  std::string_view summary;
  std::string_view examples;  // shown below the options by --help
  // Declares the options; what it returns runs once they are parsed.
  std::function<Run(cli::Parser& command)> declare;
};

// Those of msprobe.
std::span<const Command> commands();

Run declare_acc_check(cli::Parser& command);
Run declare_api_precision_compare(cli::Parser& command);
Run declare_compare(cli::Parser& command);
Run declare_convert_info(cli::Parser& command);
Run declare_diff(cli::Parser& command);
Run declare_merge_checks(cli::Parser& command);
Run declare_metrics(cli::Parser& command);
Run declare_multi_acc_check(cli::Parser& command);
Run declare_predict(cli::Parser& command);
Run declare_probe_device(cli::Parser& command);
Run declare_report(cli::Parser& command);
Run declare_run_overflow_check(cli::Parser& command);
Run declare_run_ut(cli::Parser& command);
Run declare_self_check(cli::Parser& command);
Run declare_shrink(cli::Parser& command);
Run declare_verify(cli::Parser& command);
// The same on the devices of several machines.
Run declare_multi_acc_check_on(cli::Parser& command, engines::Hosts* hosts);

}  // namespace msprobe::app
