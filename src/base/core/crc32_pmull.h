// SPDX-License-Identifier: Apache-2.0
// CRC-32 by the polynomial products of ARMv8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace msprobe {

// Whether this machine has them; false on other architectures.
bool has_pmull();

// REQUIRES: has_pmull(), count >= 64 and a multiple of 16.
std::uint32_t crc32_pmull(std::uint32_t crc, const std::byte* bytes, std::size_t count);

}  // namespace msprobe
