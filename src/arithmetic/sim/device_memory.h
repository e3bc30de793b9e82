// SPDX-License-Identifier: Apache-2.0
// The device itself: eight of them, each with its own memory that only copies reach.
#pragma once

#include "libtorch/aten.h"

namespace msprobe::sim {

inline constexpr c10::DeviceIndex kDevices = 8;

c10::Allocator* allocator();

// The same elements, seen by the CPU. Only the device's own kernels do this.
at::Tensor seen_by_cpu(const at::Tensor& tensor);

// A view of a tensor of the device, at the place of a CPU's view of what seen_by_cpu() gave.
at::Tensor view_like(const at::Tensor& tensor, const at::Tensor& on_cpu);

}  // namespace msprobe::sim
