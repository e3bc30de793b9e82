// SPDX-License-Identifier: Apache-2.0
// How much memory a call may take.
#pragma once

#include <cstdint>

namespace msprobe::engine {

// `asked`: of --worker-memory; 0: what the machine has.
std::uint64_t memory_of_a_call(std::uint64_t asked);

// From now on the system refuses this process more than a call may take beside what it holds
// already: the call that asks for more fails, not the machine. Address space that is only reserved,
// mapped files and the memory of devices do not count.
void limit_memory(std::uint64_t call_bytes);

}  // namespace msprobe::engine
