// SPDX-License-Identifier: Apache-2.0
// Devices of other frameworks, by name.
#pragma once

#include <memory>
#include <string_view>

#include "core/result.h"
#include "execute/foreign_device.h"

namespace msprobe::engine {

// Whether the name ("mindspore", "mindspore:1") is of a device that LibTorch does not have.
bool is_foreign(std::string_view name);

// REQUIRES: is_foreign(name). An error says what is missing.
Result<std::shared_ptr<execute::ForeignDevice>> open_foreign_device(std::string_view name);

}  // namespace msprobe::engine
