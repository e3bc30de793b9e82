// SPDX-License-Identifier: Apache-2.0
// Calls on DTensors that span several devices: the dump of a process has the local parts of them.
#pragma once

#include "core/call_name.h"
#include "dump/call_record.h"

namespace msprobe::execute {

// Whether the recorded result also depends on parts that other processes hold. It does not where
// each element of the result comes from the same element of the arguments, and all of them are cut
// alike.
bool needs_other_parts(const dump::CallRecord& record, const CallName& name);

}  // namespace msprobe::execute
