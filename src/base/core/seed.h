// SPDX-License-Identifier: Apache-2.0
// The seed of generated inputs where a user names none.
#pragma once

#include <cstdint>

namespace msprobe {

inline constexpr std::uint64_t kDefaultSeed = 1234;

}  // namespace msprobe
