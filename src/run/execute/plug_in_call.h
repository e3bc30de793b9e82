// SPDX-License-Identifier: Apache-2.0
// A call of a vendor's operator as the loaded version of the plug-in takes it: the recording may
// come from another version.
#pragma once

#include "execute/adapter.h"
#include "execute/overload.h"

namespace msprobe::execute {

// `call`, with keywords renamed that the operator knows by another of the names in `signature`, and
// without arguments that the operator does not have and that are given as their defaults.
PyCall plug_in_call(const OverloadSet& set, const Signature& signature, const PyCall& call);

}  // namespace msprobe::execute
