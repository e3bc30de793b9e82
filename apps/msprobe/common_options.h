// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, and what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "check/older_files.h"
#include "core/result.h"
#include "documented/standard.h"
#include "documented/verdict_options.h"
#include "engines/engine_options.h"
#include "exit_status.h"
#include "tables/column.h"

namespace msprobe::cli {
class Parser;
}

namespace msprobe::app {

// The heading of the options that most people need, first in the help text.
inline constexpr const char* kMostUsed = "Most used";

// Declares --device-lib, --sim-profile, --sim-config, --engine, --seed and --threads.
void declare_engine_options(cli::Parser& command, engines::EngineOptions& options);
// Declares --reference and --kernel.
void declare_functions(cli::Parser& command, engines::EngineOptions& options);
// Declares -forward, -backward and --data_path.
void declare_older_files(cli::Parser& command, check::OlderFiles& files);
// Declares --timeout.
void declare_timeout(cli::Parser& command, double& seconds);
// Declares --jobs.
void declare_jobs(cli::Parser& command, std::size_t& jobs);

// Declares --profile, --standards and --fail-on; `has_strict`: where there is a strict status.
void declare_verdict_options(cli::Parser& command, documented::VerdictOptions& options,
                             bool has_strict = false);

// An error where --fail-on asks for what --profile does not have.
Result<void> check_fail_on(const documented::VerdictOptions& options);

// Declares --fail-on alone.
void declare_fail_on(cli::Parser& command, documented::VerdictOptions& options, bool has_strict);

// Declares --titles and --precision.
void declare_output_options(cli::Parser& command, tables::OutputOptions& options);

// The built-in standards, changed by the user's file where one is given.
Result<documented::Standards> load_standards(const documented::VerdictOptions& options);

// One line that says why the job cannot be done.
ExitStatus refuse(const Error& error);

}  // namespace msprobe::app
