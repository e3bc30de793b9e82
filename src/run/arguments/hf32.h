// SPDX-License-Identifier: Apache-2.0
// HF32: float32 kept to 11 mantissa bits, as the accelerator's convolutions read it.
#pragma once

#include <bit>
#include <cstdint>

namespace msprobe::arguments {

// Rounds half away from zero on the magnitude.
inline float to_hf32(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  const std::int32_t half = ((bits >> 11) + 1) >> 1;
  return std::bit_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(half) << 12));
}

}  // namespace msprobe::arguments
