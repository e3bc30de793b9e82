// SPDX-License-Identifier: Apache-2.0
// Groups calls by the place in the model or program where they ran, and builds the tree of the
// groups.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "report/report_data.h"

namespace msprobe::report {

// What construct.json knows. The keys are modules as call_sites.json names them.
struct ModuleNames {
  std::map<std::string, std::string, std::less<>> of_call;  // "Torch.mm.0" -> "layers.0.norm2"
  std::map<std::string, std::string, std::less<>> classes;  // "layers.0.norm2" -> "LayerNorm"
};

// {"Functional.conv2d.0.forward": "Module.conv1.Conv2d.forward.0", ...}: empty at level L1. A
// parent may also be a list whose first element is its name.
Result<ModuleNames> read_construct(const std::filesystem::path& path);

// Groups the calls by their modules (of their sites, else of `modules`), those outside of the model
// by the line of the user's program; without modules all by their lines.
// REQUIRES: sites and stacks of the calls are read.
void group_calls(ReportRun& run, const ModuleNames& modules);

// The group of all calls that no module made, if others have one.
inline constexpr std::string_view kOutsideTheModel = "outside the model";

}  // namespace msprobe::report
