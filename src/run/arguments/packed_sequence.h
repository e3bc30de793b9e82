// SPDX-License-Identifier: Apache-2.0
// Arguments whose numbers depend on each other. Packed sequences: lengths and batch sizes never
// rise, and add up to the elements that are there. Groups of rows: their ends never fall.
#pragma once

#include <string_view>

#include "arguments/py_value.h"
#include "dump/call_record.h"

namespace msprobe::arguments {

// Replaces drawn lengths and batch sizes, which no operator takes, by some that fit the recorded
// shapes, extremes and sum.
void fit_packed_sequence(std::string_view bare_name, const dump::CallRecord& record, PyList& args);

// Whether PyTorch wants the second argument on the CPU, whatever the device: lengths and batch
// sizes of packed sequences, places to split at.
bool second_stays_on_cpu(std::string_view bare_name, const PyCall& call);

// Sorts the drawn ends of the groups of a grouped product: they never fall.
void sort_group_ends(std::string_view bare_name, const dump::CallRecord& record, PyList& args,
                     PyDict& kwargs);

}  // namespace msprobe::arguments
