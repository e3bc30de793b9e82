// SPDX-License-Identifier: Apache-2.0
// What acc_check and multi_acc_check share: their options, and the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check_output.h"
#include "common_options.h"
#include "exit_status.h"
#include "older_files.h"

namespace msprobe::cli {
class Parser;
}

namespace msprobe::app {

struct CheckArguments {
  std::string api_info;
  OlderFiles older;  // of run_ut, instead of api_info
  std::string out = "./";
  std::string resume_csv;
  std::string config_json;
  std::string config_yaml;
  engines::EngineOptions engine;
  bool allow_tf32 = false;
  bool hf32 = false;
  std::vector<std::string> devices;
  std::vector<std::string> only;
  bool save_error_data = false;
  bool filter_api = false;
  std::string shard = "1/1";
  ShownOptions shown;
  double timeout_seconds = 300;
  std::uint64_t worker_memory_mb = 0;  // 0: by what the machine has
  VerdictOptions verdict;
  OutputOptions output;

  // Set by the command, not by an option of both.
  std::size_t workers = 1;
  bool pair_per_device = false;
  engines::Hosts* hosts = nullptr;
  std::string progress_label = "Processing";

  bool is_older() const { return !older.forward.empty(); }
};

void declare_check_options(cli::Parser& command, CheckArguments& arguments);

// run_ut has fewer of them, and other input files.
void declare_run_ut_options(cli::Parser& command, CheckArguments& arguments);

ExitStatus run_check_command(const CheckArguments& arguments);

}  // namespace msprobe::app
