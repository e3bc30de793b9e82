// SPDX-License-Identifier: Apache-2.0
// One operator on a device, on given numbers: what probe_device asks for.
#pragma once

#include "core/operation.h"
#include "libtorch/aten.h"

namespace msprobe::probe {

// An error if the device or this PyTorch cannot compute it, or the operation makes no sense.
Result<Numbers> run_operation(at::Device device, const Operation& operation);

}  // namespace msprobe::probe
