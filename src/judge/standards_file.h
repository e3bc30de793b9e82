// SPDX-License-Identifier: Apache-2.0
// A user's own standards: --standards FILE. docs/standards.md describes the format.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "judge/standard.h"

namespace msprobe::judge {

// The rules of the file, in its order. Everything unknown or out of range is an error that names
// the file, the line, the key, what was found and what is allowed.
Result<std::vector<Rule>> load_rules(const std::filesystem::path& path);

// The same of text that is already here; `shown` names it in messages.
Result<std::vector<Rule>> parse_rules(std::string_view text, std::string_view shown);

}  // namespace msprobe::judge
