// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder judge by.
#pragma once

#include "documented/standard.h"

namespace msprobe::documented {

inline constexpr auto kDocumented = Profile::kDocumented;
inline constexpr auto kReference = Profile::kReference;
inline const Standards kBuiltIn;

}  // namespace msprobe::documented
