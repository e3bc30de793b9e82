// SPDX-License-Identifier: Apache-2.0
// How a call that was not checked says why. The message in the CSV pair is all a resumed run has of
// it, so a message leads back to its reason.
#pragma once

#include <string>
#include <string_view>

#include "protocol/measured_call.h"

namespace msprobe::check {

// The documented text of a call that is left out before anything runs.
std::string planned_skip_message(SkipReason reason, std::string_view full_name);

// The message of a call, or a backward pass, that an engine could not check. Texts that the
// documents fix are used alone; all others follow the reason's name: "missing_data: no file x.pt".
std::string skip_message(const Skip& skip);

struct SkipClass {
  std::string_view label;  // in the coverage line
  bool lost = false;       // the call should have been checked: exit status 1
  bool raised = false;     // it does not run on the device: exit status 1
};

// What a SKIP row's message says.
SkipClass classify_skip(std::string_view message);

}  // namespace msprobe::check
