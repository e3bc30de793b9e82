// SPDX-License-Identifier: Apache-2.0
// The Python scripts that reproduce failing calls; `acc_check --shrink` writes them beside its
// CSVs.
#pragma once

#include <filesystem>

#include "report/report_data.h"

namespace msprobe::report {

// out/accuracy_checking_details_1.csv -> out/accuracy_checking_scripts_1
std::filesystem::path scripts_directory(const std::filesystem::path& details_csv);

// Gives each call its script, if there is one: CALL/reproduce.py in `directory`.
void read_scripts(ReportRun& run, const std::filesystem::path& directory);

}  // namespace msprobe::report
