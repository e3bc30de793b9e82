// SPDX-License-Identifier: Apache-2.0
// Devices as users name them: "0", "cpu", "cuda:1", "recorded".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace msprobe::engines {

// Refuses what cannot be a device: a negative id, an id or name given twice, odd characters.
// Whether it exists, only an engine can tell.
Result<void> check_device_names(const std::vector<std::string>& names);

// "npu" of "npu:0".
bool is_bare_id(std::string_view name);  // "0"
std::string_view device_kind(std::string_view name);

}  // namespace msprobe::engines
