// SPDX-License-Identifier: Apache-2.0
// The memory of this machine, or of the container in which this program runs.
#pragma once

#include <cstdint>

namespace msprobe {

std::uint64_t machine_memory_bytes();

}  // namespace msprobe
