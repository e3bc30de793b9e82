// SPDX-License-Identifier: Apache-2.0
// A request -> what run_check takes: files found and read, names checked, defaults filled in.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "check/check_request.h"
#include "check/config.h"
#include "check/judged_call.h"
#include "core/call_command.h"
#include "core/log.h"
#include "core/result.h"
#include "documented/standard.h"
#include "engines/dispatch.h"
#include "journal/shard.h"
#include "units/known_products.h"

namespace msprobe::check {

// What the card of the device says, as far as a check uses it.
struct DeviceCard {
  std::string text;    // of the file, for the run's identity; empty: there is no card
  std::string device;  // that was probed
  std::string torch;   // version of PyTorch then
  std::vector<units::KnownProducts> products;
};

struct CheckOptions {
  CheckRequest request;        // devices named, the engine found
  std::filesystem::path dump;  // checked
  // Files of the older recorder; `dump` is the forward_info then.
  struct Older {
    std::filesystem::path backward;  // backward_info
    std::filesystem::path data;      // below which the tensor files are read
  };
  std::optional<Older> older;
  std::filesystem::path out_directory;
  Config config;
  journal::Shard shard;
  documented::Standards standards;
  std::string standards_text;               // the user's file, for the run's identity
  CallCommand rerun;                        // of a failing row
  std::filesystem::path working_directory;  // in which that command was given

  std::string reference_text, kernel_text;  // of the user's files, for the run's identity
  std::string sim_config_text;  // what the file of engine.sim_config says, for the run's identity
  DeviceCard card;
  engines::DispatchOptions dispatch;

  std::function<std::string()> timestamp;
  std::function<void(log::Severity, const std::string&)> say;
  std::function<void(std::size_t done, std::size_t total)> show_progress;
  // No device was named, or only its number, and this machine has no other than the CPU, which is
  // compared with itself; may be empty.
  std::function<void()> compares_cpu_with_itself;
  std::function<void(const JudgedCall&)> judged;  // each call, in dump order; may be empty
};

// Where msprobe is, and what the environment names instead of what is beside it.
struct Surroundings {
  std::filesystem::path program;
  std::optional<std::filesystem::path> engine;  // $MSPROBE_ENGINE
  std::optional<std::filesystem::path> config;  // $MSPROBE_CONFIG
};

// The callbacks and the time stamp are left to the caller. Makes the output directory.
Result<CheckOptions> options_of(const CheckRequest& request, const Surroundings& surroundings);

// The command that checks only one call, with all that changes its rows:
// "msprobe acc_check -api_info dump.json -d sim --seed 7".
CallCommand rerun_command(const CheckRequest& request);

}  // namespace msprobe::check
