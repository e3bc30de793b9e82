// SPDX-License-Identifier: Apache-2.0
#include "libtorch/jit_compile.h"

#include <string>

#include <dlfcn.h>

namespace msprobe::libtorch {
namespace {

using OwnFunction = void (*)(bool on);
using SetOption = void (*)(const std::string& key, const std::string& value);

// c10_npu::option::SetOption(const std::string&, const std::string&)
#if _GLIBCXX_USE_CXX11_ABI
constexpr const char* kNpuSetOption =
    "_ZN7c10_npu6option9SetOptionERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES8_";
#else
constexpr const char* kNpuSetOption = "_ZN7c10_npu6option9SetOptionERKSsS2_";
#endif

}  // namespace

bool set_jit_compile(bool on) {
  if (void* const own = ::dlsym(RTLD_DEFAULT, "msprobe_device_jit_compile")) {
    reinterpret_cast<OwnFunction>(own)(on);
    return true;
  }
  void* const option = ::dlsym(RTLD_DEFAULT, kNpuSetOption);
  if (option == nullptr) return false;
  const std::string value = on ? "enable" : "disable";
  for (const char* key : {"jitCompile", "ALLOW_INTERNAL_FORMAT"}) {
    reinterpret_cast<SetOption>(option)(key, value);
  }
  return true;
}

}  // namespace msprobe::libtorch
