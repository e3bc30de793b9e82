// SPDX-License-Identifier: Apache-2.0
// Whether what a user's reference gave can be a benchmark.
#pragma once

#include <optional>

#include "arguments/py_value.h"
#include "core/skip.h"
#include "dump/call_record.h"

namespace msprobe::execute {

// Not where a tensor is on another device than the CPU, or has another shape than was recorded.
std::optional<Skip> look_at_reference(const dump::CallRecord& record,
                                      const arguments::PyValue& output);

// Not where two runs with the same arguments and the same seed give different numbers.
std::optional<Skip> look_at_repetition(const arguments::PyValue& first,
                                       const arguments::PyValue& second);

}  // namespace msprobe::execute
