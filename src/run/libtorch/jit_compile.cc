// SPDX-License-Identifier: Apache-2.0
#include "libtorch/jit_compile.h"

#include <dlfcn.h>

namespace msprobe::libtorch {

bool set_jit_compile(bool on) {
  void* const own = ::dlsym(RTLD_DEFAULT, "msprobe_device_jit_compile");
  if (own == nullptr) return false;
  reinterpret_cast<void (*)(bool)>(own)(on);
  return true;
}

}  // namespace msprobe::libtorch
