// SPDX-License-Identifier: Apache-2.0
// Looks up the calls of a run in its dump: their arguments, the user's line that made them, the
// module they belong to.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "dump/call_record.h"
#include "dump/stack_json.h"
#include "report/report_data.h"

namespace msprobe::report {

// Reads dump.json and, beside it, stack.json and construct.json where they are. A fault of
// dump.json is an error; a fault of the others is returned as a warning and costs what they tell.
Result<std::string> describe_calls(ReportRun& run, const std::filesystem::path& dump);

// "File <app>/models.py, line 49, in forward, \n pos = torch.arange(t)" taken apart; text of
// another form becomes the code of a frame without a file.
StackFrame parse_frame(std::string_view text);

// stack.json beside dump.json; the stack_info file beside a forward_info.
std::filesystem::path stack_file_of(const std::filesystem::path& dump);

// Those of a call's forward pass, by whatever name the file has for it; empty: none, or unreadable.
std::vector<std::string> frames_of(const dump::StackIndex& stacks, const std::string& call);

// One line per argument: name, tab, dtype, shape and range, or the value.
std::string arguments_text(std::string_view api, const dump::ForwardRecord& call);

}  // namespace msprobe::report
