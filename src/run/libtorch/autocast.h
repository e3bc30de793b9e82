// SPDX-License-Identifier: Apache-2.0
// Automatic mixed precision, switched on for a scope.
#pragma once

#include "libtorch/aten.h"

namespace msprobe::libtorch {

class AutocastScope {
 public:
  // Does nothing if the device type has no autocast to `dtype`.
  AutocastScope(at::DeviceType device, at::ScalarType dtype);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  at::DeviceType device_;
  bool active_ = false;
  bool was_enabled_ = false;
  at::ScalarType old_dtype_ = at::kFloat;
};

}  // namespace msprobe::libtorch
