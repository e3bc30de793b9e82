// SPDX-License-Identifier: Apache-2.0
#include "libtorch/autocast.h"

#include <ATen/autocast_mode.h>

#include "libtorch/since.h"

namespace msprobe::libtorch {
namespace {

bool is_half(at::ScalarType dtype) { return dtype == at::kHalf || dtype == at::kBFloat16; }

#if MSPROBE_TORCH_SINCE(2, 4)

bool is_enabled(at::DeviceType device) { return at::autocast::is_autocast_enabled(device); }
void enable(at::DeviceType device, bool on) { at::autocast::set_autocast_enabled(device, on); }
at::ScalarType dtype_of(at::DeviceType device) { return at::autocast::get_autocast_dtype(device); }
void set_dtype(at::DeviceType device, at::ScalarType dtype) {
  at::autocast::set_autocast_dtype(device, dtype);
}
bool is_available(at::DeviceType device, at::ScalarType /*dtype*/) {
  return at::autocast::is_autocast_available(device);
}

#else

bool is_enabled(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
}
void enable(at::DeviceType device, bool on) {
  device == at::kCPU ? at::autocast::set_cpu_enabled(on) : at::autocast::set_enabled(on);
}
at::ScalarType dtype_of(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::get_autocast_cpu_dtype()
                            : at::autocast::get_autocast_gpu_dtype();
}
void set_dtype(at::DeviceType device, at::ScalarType dtype) {
  device == at::kCPU ? at::autocast::set_autocast_cpu_dtype(dtype)
                     : at::autocast::set_autocast_gpu_dtype(dtype);
}
bool is_available(at::DeviceType device, at::ScalarType dtype) {
  return device == at::kCUDA || (device == at::kCPU && dtype == at::kBFloat16);
}

#endif

}  // namespace

AutocastScope::AutocastScope(at::DeviceType device, at::ScalarType dtype) : device_(device) {
  if (!is_half(dtype) || !is_available(device, dtype)) return;
  active_ = true;
  was_enabled_ = is_enabled(device);
  old_dtype_ = dtype_of(device);
  set_dtype(device, dtype);
  enable(device, true);
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  enable(device_, was_enabled_);
  set_dtype(device_, old_dtype_);
  at::autocast::clear_cache();
}

}  // namespace msprobe::libtorch
