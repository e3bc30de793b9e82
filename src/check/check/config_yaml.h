// SPDX-License-Identifier: Apache-2.0
// config.yaml as text.
#pragma once

#include <string_view>

#include "check/config.h"
#include "core/result.h"

namespace msprobe::check {

// `shown` is the name of the file, for messages.
Result<Config> parse_config_yaml(std::string_view text, std::string_view shown);

}  // namespace msprobe::check
