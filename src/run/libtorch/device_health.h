// SPDX-License-Identifier: Apache-2.0
// What is left of a device after an error.
#pragma once

#include <string_view>

#include "libtorch/aten.h"

namespace msprobe::libtorch {

// Copies numbers there, adds them and copies the sum back. Some errors leave a process in which
// every operation fails, or none is done any more and results are unwritten memory.
bool still_computes(at::Device device);

// Whether the message is that of a device which failed while it ran, not of an operator that
// refused its arguments.
bool is_device_error(std::string_view message);

}  // namespace msprobe::libtorch
