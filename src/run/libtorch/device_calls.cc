// SPDX-License-Identifier: Apache-2.0
#include "libtorch/device_calls.h"

#include <dlfcn.h>

namespace msprobe::libtorch {
namespace {

template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

DeviceCalls device_calls() {
  DeviceCalls calls;
  calls.begin = find<decltype(calls.begin)>("msprobe_device_begin");
  calls.end = find<decltype(calls.end)>("msprobe_device_end");
  calls.own_fallback = ::dlsym(RTLD_DEFAULT, "msprobe_device_own_fallback") != nullptr;
  return calls;
}

}  // namespace msprobe::libtorch
