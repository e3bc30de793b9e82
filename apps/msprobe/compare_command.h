// SPDX-License-Identifier: Apache-2.0
// The options of msprobe compare, and what runs for each kind of dump.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "exit_status.h"
#include "report_options.h"
#include "torchair/criteria.h"

namespace msprobe::app {

struct CompareCommand {
  std::string target;
  std::string golden;
  std::string out;  // empty: the default of the kind
  std::string mode = "auto";
  std::string json;
  report::ReportFiles report;
  bool xlsx = false;
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));

  // Two dumps of a model.
  bool fuzzy = false;
  std::string data_mapping;
  std::string cell_mapping;  // a file, or kBesideResults: no file
  std::string layer_mapping;
  std::string api_mapping;  // a file, or kBesideResults: no file
  std::string config;
  bool diff_analyze = false;
  bool log_rows = false;
  std::string stack = "auto";
  std::string stack_json;
  std::string suffix;
  bool nan = false;

  // TorchAir.
  std::string data_mode = "auto";
  double stat_limit = torchair::VerdictLimits{}.statistics;
  std::optional<std::int64_t> fx_token_offset;
  std::optional<std::int64_t> rank;
};

ExitStatus run_torchair_compare(const CompareCommand& options);
std::vector<std::string> torchair_data_mode_names();

ExitStatus run_dump_compare(const CompareCommand& options);

// Where NaN and infinities come from, in one dump.
ExitStatus run_nonfinite_search(const CompareCommand& options);

}  // namespace msprobe::app
