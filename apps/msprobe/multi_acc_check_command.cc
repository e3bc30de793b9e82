// SPDX-License-Identifier: Apache-2.0
// msprobe multi_acc_check: the same check, shared by many engines on several devices.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "check_command.h"
#include "cli/parser.h"
#include "command.h"
#include "core/log.h"

namespace msprobe::app {
namespace {

constexpr int kDefaultWorkers = 8;
constexpr int kMaxWorkers = 64;
constexpr std::size_t kMaxWorkersPerDevice = 8;
constexpr std::size_t kMaxDevices = 8;

bool is_id_beyond_7(const std::string& device) {
  const bool is_id = !device.empty() && std::ranges::all_of(device, [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  return is_id && (device.size() > 1 || device > "7");
}

ExitStatus run(CheckArguments& arguments) {
  if (arguments.request.devices.empty()) arguments.request.devices = {"0"};
  if (arguments.request.devices.size() > kMaxDevices) {
    return refuse({ErrorKind::kUsage, fmt::format("{} devices are given, at most {} can be used",
                                                  arguments.request.devices.size(), kMaxDevices)});
  }
  if (const auto beyond = std::ranges::find_if(arguments.request.devices, &is_id_beyond_7);
      beyond != arguments.request.devices.end()) {
    return refuse({ErrorKind::kUsage, fmt::format("device id {}: ids go from 0 to 7", *beyond)});
  }
  const std::size_t most = kMaxWorkersPerDevice * arguments.request.devices.size();
  if (arguments.request.workers > most) {
    log::warning(
        "A device supports a maximum of 8 processes. The total number of processes exceeds the "
        "limit, and it is set to {}.",
        most);
    arguments.request.workers = most;
  }
  return run_check_command(arguments);
}

}  // namespace

Run declare_multi_acc_check(cli::Parser& command) {
  return declare_multi_acc_check_on(command, nullptr);
}

Run declare_multi_acc_check_on(cli::Parser& command, engines::Hosts* hosts) {
  auto arguments = std::make_shared<CheckArguments>();
  arguments->request.hosts = hosts;
  arguments->request.workers = kDefaultWorkers;
  arguments->request.pair_per_device = true;
  arguments->progress_label = "Total items";
  declare_check_options(command, *arguments);
  command.group(kMostUsed);
  command
      .value("-n,--num_splits", arguments->request.workers,
             "engines that work at the same time, at most 8 per device")
      .between(1, kMaxWorkers)
      .shows_default();
  return [arguments] { return run(*arguments); };
}

}  // namespace msprobe::app
