// SPDX-License-Identifier: Apache-2.0
// Outputs other than tensors: numbers, truth values, texts.
#pragma once

#include "core/strict.h"
#include "execute/execute_call.h"

namespace msprobe::strict {

StrictFinding judge_value(const execute::LeafPair& leaf);

}  // namespace msprobe::strict
