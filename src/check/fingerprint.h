// What a run is made of: everything that changes its rows.
#pragma once

#include "check/plan.h"
#include "check/run_check.h"
#include "check/run_file.h"
#include "check/wire.h"
#include "dump/dump_json.h"

namespace msprobe::check {

RunFacts facts_of(const CheckOptions& options, const dump::DumpIndex& dump, const Hello& engine);

// The fact that keeps CheckOptions::rerun_command as it was when the run began.
inline constexpr std::string_view kRerunFact = "as_given_rerun";

}  // namespace msprobe::check
