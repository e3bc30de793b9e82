// SPDX-License-Identifier: Apache-2.0
// One operator on given numbers, as probe_device asks a device for it. Plain data: it crosses the
// border between msprobe and the engine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "core/tensor.h"

namespace msprobe {

// Row-major, native byte order; bytes.size() == element count * size_bytes(dtype).
struct Numbers {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::string bytes;
};

struct Operation {
  std::string name;  // of the table in probe/run_operation.cc: "matmul", "exp", "cast"
  std::vector<Numbers> inputs;
  DType result = DType::kFloat32;  // of "cast", and of the factors of "scaled_mm"
};

// What a device makes of an operation; an error says why it cannot.
using Compute = std::function<Result<Numbers>(const Operation& operation)>;

}  // namespace msprobe
