// SPDX-License-Identifier: Apache-2.0
// Asks the engine for a cause that explains the difference of two tensors.
#pragma once

#include <string>

#include "core/tensor.h"

namespace msprobe::app {

// "bad tile: (16..31, 0..15)": what acc_check names if `device` is given to it as a copy of `bench`
// gone wrong. Empty if nothing fits, if there are too many elements for a person to wait, or if
// this installation has no engine. A benchmark of a wider dtype is rounded to the device's first.
std::string pair_cause(const Tensor& bench, const Tensor& device);

}  // namespace msprobe::app
