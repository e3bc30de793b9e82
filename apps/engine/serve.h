// SPDX-License-Identifier: Apache-2.0
// The engine as msprobe's worker: requests on one descriptor, responses on the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "execute/foreign_device.h"
#include "execute/user_functions.h"
#include "libtorch/aten.h"

namespace msprobe::engine {

struct ServeOptions {
  at::Device device = at::kCPU;
  bool recorded = false;
  std::string device_name;
  std::shared_ptr<execute::ForeignDevice> foreign = nullptr;  // not of LibTorch
  bool jit_compile_has_effect = false;
  const execute::UserFunctions* user = nullptr;  // of the user's Python
  std::vector<std::string> kernels = {};         // the APIs that it has kernels for
};

enum class Served : std::uint8_t { kAll, kDeviceGone };

// Ends with the input, or behind an answer after which the device cannot be trusted any more.
Result<Served> serve(int input, int output, const ServeOptions& options);

}  // namespace msprobe::engine
