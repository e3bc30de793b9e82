// SPDX-License-Identifier: Apache-2.0
// A device's library may export two functions by name. The engine calls them before and after each
// recorded call on the device; the second may still change the results.
#pragma once

#include <vector>

#include "libtorch/aten.h"

namespace msprobe::libtorch {

struct DeviceCalls {
  // One direction of a call begins. Throws what the device throws.
  void (*begin)(const char* call, bool backward) = nullptr;
  // Its results, undefined if not a tensor; the device may change them.
  void (*end)(std::vector<at::Tensor>* results, bool backward) = nullptr;

  bool wanted() const { return begin != nullptr && end != nullptr; }
};

// Those of the libraries that were loaded: msprobe_device_begin and msprobe_device_end.
DeviceCalls device_calls();

}  // namespace msprobe::libtorch
