// SPDX-License-Identifier: Apache-2.0
// Packed sequences: lengths and batch sizes never rise, and add up to the elements that are there.
#pragma once

#include <string_view>

#include "arguments/py_value.h"
#include "dump/call_record.h"

namespace msprobe::arguments {

// Replaces drawn lengths and batch sizes, which no operator takes, by some that fit the recorded
// shapes, extremes and sum.
void fit_packed_sequence(std::string_view bare_name, const dump::CallRecord& record, PyList& args);

}  // namespace msprobe::arguments
