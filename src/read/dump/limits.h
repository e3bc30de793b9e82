// SPDX-License-Identifier: Apache-2.0
// What a file may ask for.
#pragma once

#include <cstddef>

namespace msprobe::dump {

// Dimensions of a tensor; no framework has more.
inline constexpr std::size_t kMaxRank = 64;

}  // namespace msprobe::dump
