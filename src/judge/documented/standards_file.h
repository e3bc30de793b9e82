// SPDX-License-Identifier: Apache-2.0
// A user's own standards: --standards FILE. docs/standards.md describes the format.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "documented/standard.h"

namespace msprobe::documented {

// The built-in standards, changed by the user's file if one is named.
Result<Standards> load_standards(const std::filesystem::path& path);

// The rules of a file with this text, in its order; `shown` names it in messages. Everything
// unknown or out of range is an error that names the file, the line, the key, what was found and
// what is allowed.
Result<std::vector<Rule>> parse_rules(std::string_view text, std::string_view shown);

}  // namespace msprobe::documented
