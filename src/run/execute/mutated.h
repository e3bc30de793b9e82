// SPDX-License-Identifier: Apache-2.0
// Arguments that a call changes in place are outputs, too: they follow those that it returns.
#pragma once

#include "arguments/py_value.h"
#include "dump/call_record.h"

namespace msprobe::execute {

using arguments::PyCall;
using arguments::PyList;
using arguments::PyValue;

// The arguments of `call` at the places of `mutated`; None if there is none.
PyList mutated_arguments(const PyCall& call, const dump::Dict& mutated);

// `output`, and `mutated` behind it. `output` itself if nothing was changed.
PyValue with_mutated(const PyValue& output, const PyList& mutated);

// The recorded ones, in the order of their places.
dump::List recorded_mutations(const dump::Dict& mutated);

}  // namespace msprobe::execute
