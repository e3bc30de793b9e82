// SPDX-License-Identifier: Apache-2.0
#include "libtorch/device_health.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>

namespace msprobe::libtorch {

bool still_computes(at::Device device) {
  // Other numbers each time: memory that is unwritten may hold the last ones.
  static std::atomic<int> asked = 0;
  constexpr int kNumbers = 512;
  const at::NoGradGuard no_grad;
  try {
    const at::Tensor numbers = at::arange(kNumbers, at::kFloat) + kNumbers * (++asked % 1024);
    const at::Tensor there = numbers.to(device);
    return there.add(there).to(at::kCPU).equal(numbers * 2);
  } catch (const std::exception&) {
    return false;
  }
}

bool is_device_error(std::string_view message) {
  // The last one: CANN's errors of a running device are 507000 to 507999.
  constexpr auto kTexts = std::to_array<std::string_view>(
      {"CUDA error", "HIP error", "device-side assert", "error code is 507"});
  return std::ranges::any_of(
      kTexts, [&](std::string_view text) { return message.find(text) != std::string_view::npos; });
}

}  // namespace msprobe::libtorch
