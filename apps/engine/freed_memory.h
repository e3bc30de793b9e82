// SPDX-License-Identifier: Apache-2.0
// What one call frees the next one takes: pages that go back to the system have to be cleared
// again, which costs more than most operators.
#pragma once

namespace msprobe::engine {

// To be called before anything large is allocated.
void keep_freed_memory();

// Gives back what is free if it is much; to be called now and then.
void release_excess_memory();

}  // namespace msprobe::engine
