// SPDX-License-Identifier: Apache-2.0
// The summary of a check as JSON, with every call that does not pass.
#pragma once

#include <string>

#include "check/run_check.h"
#include "exit_status.h"
#include "report/report_data.h"

namespace msprobe::app {

std::string check_json(const check::CheckOutcome& outcome, ExitStatus status,
                       const report::ReportRun& run);

}  // namespace msprobe::app
