// SPDX-License-Identifier: Apache-2.0
// The fingerprint of a run: everything that changes its rows.
#pragma once

#include "check/plan.h"
#include "check/run_check.h"
#include "dump/dump_json.h"
#include "journal/run_file.h"
#include "protocol/frames.h"

namespace msprobe::check {

journal::RunFacts facts_of(const CheckOptions& options, const dump::DumpIndex& dump,
                           const Dialect& dialect, const Plan& plan, const protocol::Hello& engine);

// Facts that a merge of shards reads, beside journal::kShardFact.
inline constexpr std::string_view kRecordedFact = "recorded";
inline constexpr std::string_view kRepeatsFact = "repeats";
inline constexpr std::string_view kNotSelectedFact = "not_selected";
inline constexpr std::string_view kProfileFact = "profile";
inline constexpr std::string_view kTitlesFact = "titles";
inline constexpr std::string_view kDialectFact = "dialect";  // not there: pytorch

// Paths in the re-run command are relative to this directory.
inline constexpr std::string_view kDirectoryFact = "as_given_directory";

}  // namespace msprobe::check
