// SPDX-License-Identifier: Apache-2.0
// A whole check: a dump in, the CSV pair and the coverage out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "check/config.h"
#include "check/coverage.h"
#include "check/judged_call.h"
#include "core/call_command.h"
#include "core/known_products.h"
#include "core/log.h"
#include "core/result.h"
#include "documented/profile.h"
#include "documented/standard.h"
#include "engines/dispatch.h"
#include "engines/engine_options.h"
#include "engines/hosts.h"
#include "journal/csv_pair.h"
#include "journal/shard.h"
#include "tables/column.h"

namespace msprobe::check {

// What the card of the device says, as far as a check uses it.
struct DeviceCard {
  std::string text;    // of the file, for the run's identity; empty: there is no card
  std::string device;  // that was probed
  std::string torch;   // version of PyTorch then
  std::vector<KnownProducts> products;
};

struct CheckOptions {
  std::filesystem::path dump;  // checked
  // Files of the older recorder; `dump` is the forward_info then.
  struct Older {
    std::filesystem::path backward;  // backward_info
    std::filesystem::path data;      // below which the tensor files are read
  };
  std::optional<Older> older;
  std::filesystem::path out_directory;
  std::optional<std::filesystem::path> resume;  // the result CSV to continue
  Config config;
  std::vector<std::string> only;
  bool drop_repeats = false;
  journal::Shard shard;
  bool save_error_data = false;

  documented::Profile profile = documented::Profile::kDocumented;
  documented::Standards standards;
  std::string standards_text;  // the user's file, for the run's identity
  tables::Titles titles = tables::Titles::kEnglish;
  CallCommand rerun;                        // of a failing row
  std::filesystem::path working_directory;  // in which that command was given

  engines::EngineOptions engine;
  std::vector<std::string> devices;  // as the user named them
  std::size_t workers = 1;           // dealt round-robin over the devices
  bool pair_per_device = false;
  engines::Hosts* hosts = nullptr;  // each has these devices and workers; null: this machine alone
  std::string sim_config_text;  // what the file of engine.sim_config says, for the run's identity
  bool explain = false;         // strict findings show the terms of their bounds
  bool allow_tf32 = false;      // products of float32 inputs may round these to TF32
  bool hf32 = false;            // convolutions are benched in HF32; an npu's always are
  DeviceCard card;
  std::uint64_t call_memory_bytes = 0;  // what one call may take; 0: what the machine has
  engines::DispatchOptions dispatch;

  std::function<std::string()> timestamp;
  std::function<void(log::Severity, const std::string&)> say;
  std::function<void(std::size_t done, std::size_t total)> show_progress;
  // No device was named, or only its number, and this machine has no other than the CPU, which is
  // compared with itself; may be empty.
  std::function<void()> compares_cpu_with_itself;
  std::function<void(const JudgedCall&)> judged;  // each call, in dump order; may be empty
};

struct CheckOutcome {
  Coverage coverage;
  journal::CsvPaths paths;
  std::string device;    // of the first engine
  std::size_t done = 0;  // rows there are now
  std::size_t total = 0;
  bool interrupted = false;
};

// An error means the job could not be done; rows that were committed stay, and can be continued.
Result<CheckOutcome> run_check(const CheckOptions& options);

}  // namespace msprobe::check
