// SPDX-License-Identifier: Apache-2.0
// Calls of an API that PyTorch has under another name.
#pragma once

#include "execute/adapter.h"
#include "ops/mindspore_names.h"

namespace msprobe::execute {

using ops::RenamedRow;

PyCall handed_on(const RenamedRow& row, const Bound& a);

}  // namespace msprobe::execute
