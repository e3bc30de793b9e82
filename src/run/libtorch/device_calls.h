// SPDX-License-Identifier: Apache-2.0
// What a device's library may export by name: two functions that the engine calls before and after
// each recorded call on the device (the second may still change the results), and a mark that its
// fallback for operators without a kernel computes as the device does, not as the CPU.
#pragma once

#include <vector>

#include "libtorch/aten.h"

namespace msprobe::libtorch {

struct DeviceCalls {
  // One direction of a call begins. Throws what the device throws.
  void (*begin)(const char* call, bool backward) = nullptr;
  // Its results, undefined if not a tensor; the device may change them.
  void (*end)(std::vector<at::Tensor>* results, bool backward) = nullptr;

  bool own_fallback = false;

  bool wanted() const { return begin != nullptr && end != nullptr; }
};

// Those of the libraries that were loaded: msprobe_device_begin, msprobe_device_end and
// msprobe_device_own_fallback.
DeviceCalls device_calls();

}  // namespace msprobe::libtorch
