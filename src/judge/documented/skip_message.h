// SPDX-License-Identifier: Apache-2.0
// How a call that was not checked says why. Rows carry the reason itself; a CSV has its message
// only, which leads back to it.
#pragma once

#include <string>
#include <string_view>

#include "core/skip.h"

namespace msprobe::documented {

// A call that is left out before anything runs, with its documented text.
Skip planned_skip(SkipReason reason, std::string_view full_name);

// The message of a call, or a backward pass, that an engine could not check. Texts that the
// documents fix are used alone; all others follow the reason's name: "missing_data: no file x.pt".
std::string skip_message(const Skip& skip);

// The reason that such a message says, for those who read it in a file; kNone: none.
SkipReason skip_reason_of(std::string_view message);

}  // namespace msprobe::documented
