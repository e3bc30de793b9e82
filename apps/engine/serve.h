// The engine as msprobe's worker: requests on one descriptor, responses on the other.
#pragma once

#include <string>

#include "core/result.h"
#include "libtorch/aten.h"

namespace msprobe::engine {

struct ServeOptions {
  at::Device device = at::kCPU;
  bool recorded = false;
  std::string device_name;
};

// Ends with the input.
Result<void> serve(int input, int output, const ServeOptions& options);

}  // namespace msprobe::engine
