// SPDX-License-Identifier: Apache-2.0
// What a user asks of a check, as the options spell it -> what run_check takes: files found and
// read, names checked, defaults filled in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "check/older_files.h"
#include "check/run_check.h"
#include "core/call_command.h"
#include "core/result.h"
#include "documented/profile.h"
#include "engines/engine_options.h"
#include "engines/hosts.h"
#include "tables/column.h"

namespace msprobe::check {

struct CheckRequest {
  std::string api_info;
  OlderFiles older;  // of run_ut, instead of api_info
  std::string out = "./";
  std::string resume_csv;
  std::string config_json;
  std::string config_yaml;
  engines::EngineOptions engine;
  bool allow_tf32 = false;
  bool explain = false;  // show how the bounds of the strict status are made
  bool hf32 = false;
  std::string card_file;  // of probe_device; empty: none
  std::vector<std::string> devices;
  std::vector<std::string> only;
  bool save_error_data = false;
  bool filter_api = false;
  std::string shard = "1/1";
  double timeout_seconds = 300;
  std::uint64_t worker_memory_mb = 0;  // 0: by what the machine has
  documented::Profile profile = documented::Profile::kDocumented;
  std::string standards_file;
  tables::Titles titles = tables::Titles::kEnglish;
  std::optional<int> precision;  // decimals of the numbers; empty: as the configuration says

  // Set by the command, not by an option of every check.
  std::size_t workers = 1;
  bool pair_per_device = false;
  engines::Hosts* hosts = nullptr;

  bool is_older() const { return !older.forward.empty(); }
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
