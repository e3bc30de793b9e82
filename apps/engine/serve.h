// SPDX-License-Identifier: Apache-2.0
// The engine as msprobe's worker: requests on one descriptor, responses on the other.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "execute/foreign_device.h"
#include "libtorch/aten.h"

namespace msprobe::engine {

struct ServeOptions {
  at::Device device = at::kCPU;
  bool recorded = false;
  std::string device_name;
  std::shared_ptr<execute::ForeignDevice> foreign = nullptr;  // not of LibTorch
  bool jit_compile_has_effect = false;
};

// Ends with the input.
Result<void> serve(int input, int output, const ServeOptions& options);

}  // namespace msprobe::engine
