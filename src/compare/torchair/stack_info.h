// SPDX-License-Identifier: Apache-2.0
// Finds the source lines of FX nodes, for dumps that also have the graph as Python.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "torchair/dump_files.h"

namespace msprobe::torchair {

using StackInfo = std::map<std::string, std::string>;  // by FX node

// From dynamo_original_graph_*.py beside the graph text: lines `# File "x.py", line 3` come before
// the node they belong to, which is named by node_name="...".
// Of the file beside the graph text; none: there is no such file.
Result<StackInfo> read_stack_info(const std::filesystem::path& graph_text, DumpFiles& files);
StackInfo parse_stack_info(std::string_view python);

}  // namespace msprobe::torchair
