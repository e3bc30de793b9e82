// SPDX-License-Identifier: Apache-2.0
// The names a pickle of a tensor may mention. Nothing is ever called: a name only tells what its
// arguments mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/dtype.h"

namespace msprobe::dump {

enum class PickleRole : std::uint8_t {
  kRebuildTensor,     // torch._utils._rebuild_tensor(storage, offset, size, stride)
  kRebuildTensorV2,   // ... requires_grad, backward_hooks[, metadata]
  kRebuildTensorV3,   // ... requires_grad, backward_hooks, dtype[, metadata]
  kRebuildTensorNpu,  // ... requires_grad, backward_hooks, format of the NPU
  kRebuildParameter,  // (tensor, requires_grad, backward_hooks[, state])
  kRebuildFromType,   // (rebuild function, type, arguments, state)
  kTensorType,
  kStorageType,  // with `dtype`; without: bytes
  kDType,        // with `dtype`; without: one this build does not know
  kOrderedDict,
  kSize,
  kDevice,
  kNpuFormat,
  kUnsupported,  // a kind of tensor this build does not read; `what` names it
};

struct PickleGlobal {
  PickleRole role;
  std::optional<DType> dtype;
  std::string_view what;
};

// std::nullopt for a name that is not on the list.
std::optional<PickleGlobal> find_pickle_global(std::string_view module, std::string_view name);

}  // namespace msprobe::dump
