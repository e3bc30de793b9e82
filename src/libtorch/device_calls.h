// SPDX-License-Identifier: Apache-2.0
// A device's library may offer two functions by name. It is told then which recorded call runs on
// the device, and has the last word on what the device gave.
#pragma once

#include <vector>

#include "libtorch/aten.h"

namespace msprobe::libtorch {

struct DeviceCalls {
  // One direction of a call begins. Throws what the device throws.
  void (*begin)(const char* call, bool backward) = nullptr;
  // Its results, undefined where one is no tensor; the device may change them.
  void (*end)(std::vector<at::Tensor>* results, bool backward) = nullptr;

  bool wanted() const { return begin != nullptr && end != nullptr; }
};

// Those of the libraries that were loaded: msprobe_device_begin and msprobe_device_end.
DeviceCalls device_calls();

}  // namespace msprobe::libtorch
