// SPDX-License-Identifier: Apache-2.0
// Profile: by whose rules a run measures and judges.
#pragma once

#include <cstdint>

namespace msprobe::documented {

// --profile: the documents' rules, or today's public tool's, measured and judged cell by cell.
enum class Profile : std::uint8_t { kDocumented, kReference };

}  // namespace msprobe::documented
