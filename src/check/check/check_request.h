// SPDX-License-Identifier: Apache-2.0
// The request of a check, as the user's options spell it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/older_files.h"
#include "documented/verdict_options.h"
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
  std::string card_file;  // of probe_device; empty: none
  std::string unit;       // of 8-bit products, as units::parse_unit takes it; empty: not known
  std::vector<std::string> devices;  // as the user names them
  std::vector<std::string> only;
  bool save_error_data = false;
  bool filter_api = false;
  std::string shard = "1/1";
  double timeout_seconds = 300;
  std::uint64_t worker_memory_mb = 0;  // 0: by what the machine has
  documented::VerdictOptions verdict;
  tables::OutputOptions output;

  // Set by the command, not by an option of every check.
  std::size_t workers = 1;  // dealt round-robin over the devices
  bool pair_per_device = false;
  engines::Hosts* hosts = nullptr;  // each has these devices and workers; null: this machine alone

  documented::Profile profile() const { return verdict.profile; }
  bool is_older() const { return !older.forward.empty(); }
};

}  // namespace msprobe::check
