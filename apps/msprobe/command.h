// A command is a row: its name, what it is for, and the function that declares its options and what
// runs.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "exit_status.h"

namespace CLI {
class App;
}

namespace msprobe::check {
class Hosts;
}

namespace msprobe::app {

using Run = std::function<ExitStatus()>;

struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;  // shown below the options by --help
  // Declares the options; what it returns runs once they are parsed.
  std::function<Run(CLI::App& command)> declare;
};

// Those of msprobe.
std::span<const Command> commands();

Run declare_acc_check(CLI::App& command);
Run declare_api_precision_compare(CLI::App& command);
Run declare_compare(CLI::App& command);
Run declare_convert_info(CLI::App& command);
Run declare_merge_checks(CLI::App& command);
Run declare_metrics(CLI::App& command);
Run declare_multi_acc_check(CLI::App& command);
Run declare_report(CLI::App& command);
Run declare_self_check(CLI::App& command);
Run declare_shrink(CLI::App& command);
// The same on the devices of several machines.
Run declare_multi_acc_check_on(CLI::App& command, check::Hosts* hosts);

}  // namespace msprobe::app
