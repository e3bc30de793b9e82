// SPDX-License-Identifier: Apache-2.0
// --json: the summary of a command for programs, on standard output or in a file.
#pragma once

#include <string>

#include "core/result.h"

namespace msprobe::cli {
class Parser;
}

namespace msprobe::app {

// `json`: "" without the option, "true" with it, else the file.
void declare_json(cli::Parser& command, std::string& json);

// The JSON goes to standard output, or to the file; nowhere without --json.
Result<void> write_json(const std::string& json, const std::string& json_text);

// Without --json, or with a file: `text` for a person goes to standard output. With --json the JSON
// goes there or to the file.
Result<void> show_summary(const std::string& json, const std::string& json_text,
                          const std::string& text);

}  // namespace msprobe::app
