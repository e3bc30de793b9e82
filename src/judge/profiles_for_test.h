// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder judge by.
#pragma once

#include "judge/standard.h"

namespace msprobe::judge {

inline constexpr auto kDocumented = Profile::kDocumented;
inline constexpr auto kReference = Profile::kReference;
inline const Standards kBuiltIn;

}  // namespace msprobe::judge
