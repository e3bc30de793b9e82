// SPDX-License-Identifier: Apache-2.0
// Binds a call to the first overload that takes it, as Python's argument parser does, and runs it.
#pragma once

#include "execute/adapter.h"
#include "execute/overload.h"

namespace msprobe::execute {

// Throws BindError if no overload takes the arguments, and whatever the operator throws.
PyValue call_overloads(const OverloadSet& set, const PyCall& call);

// Nothing if the value is not of the kind. `set` and `list_size` as the parameter has them.
c10::optional<c10::IValue> to_ivalue(const PyValue& value, const Parameter& parameter,
                                     bool numbers_as_tensors);
PyValue from_ivalue(const c10::IValue& value);

}  // namespace msprobe::execute
