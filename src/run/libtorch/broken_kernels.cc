// SPDX-License-Identifier: Apache-2.0
#include "libtorch/broken_kernels.h"

#include "libtorch/aten.h"
#include "libtorch/since.h"

#if MSPROBE_TORCH_SINCE(2, 0)

namespace msprobe::libtorch {

void patch_broken_kernels() {}

}  // namespace msprobe::libtorch

#else

#include <ATen/ops/dot_native.h>
#include <ATen/ops/vdot_native.h>
#include <torch/library.h>

namespace msprobe::libtorch {
namespace {

at::Tensor dot(const at::Tensor& self, const at::Tensor& other) {
  return self.is_complex() ? (self * other).sum() : at::native::dot(self, other);
}

at::Tensor vdot(const at::Tensor& self, const at::Tensor& other) {
  return self.is_complex() ? (self.conj() * other).sum() : at::native::vdot(self, other);
}

}  // namespace

void patch_broken_kernels() {
  static torch::Library kernels(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__,
                                __LINE__);
  static const bool replaced = (kernels.impl("dot", dot), kernels.impl("vdot", vdot), true);
  (void)replaced;
}

}  // namespace msprobe::libtorch

#endif
