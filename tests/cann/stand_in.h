// SPDX-License-Identifier: Apache-2.0
// What the parts of the stand-in share: memory of the device, streams, faults. README.md says what
// it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <acl/acl.h>
#include <acl/acl_op_compiler.h>

#define STAND_IN_API __attribute__((visibility("default")))

namespace cann {

// A pointer of the device is an address with a bit that no mapped address has: who reads it on the
// host crashes. An address inside a block stays inside it, as with real pointers.
constexpr std::uintptr_t kDeviceBit = std::uintptr_t{1} << 50;

inline bool is_of_device(const void* pointer) {
  return (reinterpret_cast<std::uintptr_t>(pointer) & kDeviceBit) != 0;
}

// Where the host finds the memory of a device.
inline void* on_host(const void* pointer) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(pointer) & ~kDeviceBit);
}

// The device that owns `size` bytes from `pointer` on; -1 if no block holds all of them.
STAND_IN_API int device_of(const void* pointer, std::size_t size);

// Runs `work` after all that the stream was given before. What it throws is an error of the device.
// `keep` is destroyed after it.
STAND_IN_API aclError submit(aclrtStream stream, std::function<void()> work);
STAND_IN_API int device_of_stream(aclrtStream stream);
STAND_IN_API int current_device();

// An error that aclGetRecentErrMsg() reports.
STAND_IN_API aclError fail(aclError code, std::string_view message);
// The error of a device that has failed for good, else 0.
STAND_IN_API aclError state_of(int device);

constexpr aclError kKernelFailed = 507011;  // a task of a model went wrong

// A kernel on the device went wrong.
struct DeviceError {
  aclError code;
  bool sticky;
  std::string message;
};

// What MSPROBE_CANN_FAULTS asks of an operator.
struct Fault {
  enum class Kind {
    kNone,
    kScale,       // results times `value`
    kBfloat16,    // results rounded to bfloat16
    kLastEighth,  // the last eighth of the results stays unwritten
    kRefuse,      // the first phase returns error `value`
    kError,       // the kernel fails; the device goes on
    kSticky,      // the kernel fails, and with it all that the device is asked for afterwards
    kCrash,
    kHang,
  };
  Kind kind = Kind::kNone;
  double value = 0;
};

// Counts one execution of the operator.
STAND_IN_API Fault fault_of(std::string_view name);
// Appends a line to the file MSPROBE_CANN_LOG.
STAND_IN_API void note(std::string_view line);
STAND_IN_API std::string setting(const char* name, const char* otherwise);

}  // namespace cann
