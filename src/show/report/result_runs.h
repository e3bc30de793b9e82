// SPDX-License-Identifier: Apache-2.0
// The results that a user names, with what their runs' own records, dumps and neighbours tell: the
// runs of one report.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/result.h"
#include "documented/profile.h"
#include "documented/standard.h"
#include "report/report_data.h"

namespace msprobe::report {

struct ResultRunsJob {
  std::vector<std::filesystem::path> csvs;  // result or details CSVs, of checks and comparisons
  std::string dump;                         // dump.json; empty: as the run's own record says
  documented::Profile profile = documented::Profile::kDocumented;
  bool profile_given = false;  // else as the run's own record says
  documented::Standards standards;
  // Of checks of several dumps: "step1/rank0" of each CSV. They are not compared with each other.
  std::vector<std::string> places;
  // The library that the user himself named: commands of the runs may load it, and no other.
  std::string device_library;
  std::function<void(log::Severity, const std::string&)> say;  // what the report lacks, and why
};

// Comparisons first. Two checks without a comparison are put beside each other: an older and a
// newer one of the same device, else two devices.
Result<std::vector<ReportRun>> read_result_runs(const ResultRunsJob& job);

// On which device a check ran ("npu:0"), by its own record beside its details CSV; empty: not
// known.
std::string recorded_device(const std::filesystem::path& details);

}  // namespace msprobe::report
