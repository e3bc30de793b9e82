// SPDX-License-Identifier: Apache-2.0
#include "strict/doubts.h"

#include <algorithm>
#include <cstring>

namespace msprobe::strict {

std::string_view why_little(const at::Tensor& device) {
  if (device.numel() == 0) return "it is empty";
  if (device.numel() == 1) return "";
  const auto* bytes = static_cast<const char*>(device.data_ptr());
  const std::size_t one = device.element_size();
  if (std::memcmp(bytes, bytes + one, device.nbytes() - one) != 0) return "";
  const bool zero = std::all_of(bytes, bytes + one, [](char byte) { return byte == 0; });
  return zero ? "it is all zero" : "all elements are equal";
}

}  // namespace msprobe::strict
