// SPDX-License-Identifier: Apache-2.0
// The summary that run_overflow_check prints when it ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "overflow/overflow_run.h"

namespace msprobe::overflow {

enum class OverflowStatus : std::uint8_t { kPassed, kFailed, kNothingChecked };

// Calls that were lost fail; calls whose overflow is not the device's fail only on warnings.
OverflowStatus status_of(const OverflowOutcome& outcome, bool fail_on_warning);

std::string summary_text(const OverflowOutcome& outcome);

// `csv`: the file that was written; empty: none.
std::string summary_json(const OverflowOutcome& outcome, const std::filesystem::path& csv,
                         int exit_status);

}  // namespace msprobe::overflow
