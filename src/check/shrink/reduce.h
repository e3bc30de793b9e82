// SPDX-License-Identifier: Apache-2.0
// The smallest shapes and the simplest data with which a call still fails. Nothing here knows how
// that is found out.
#pragma once

#include <functional>
#include <vector>

#include "core/result.h"
#include "dump/call_record.h"

namespace msprobe::shrink {

// Whether this form of the call still fails. Forms that cannot run do not. An error ends the
// search.
using Fails = std::function<Result<bool>(const dump::CallRecord&)>;

struct Reduced {
  dump::CallRecord call;
  std::size_t tries = 0;                      // forms that were looked at
  std::vector<dump::CallRecord> larger = {};  // the forms on the way that failed too, largest first
};

// REQUIRES: `call` fails.
Result<Reduced> reduce(const dump::CallRecord& call, const Fails& fails);

}  // namespace msprobe::shrink
