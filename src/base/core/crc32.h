// SPDX-License-Identifier: Apache-2.0
// CRC-32 with the polynomial of zlib: what the md5 field of a dump holds, and every member of a
// zip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace msprobe {

// Goes on from `crc`, which is 0 at first. Uses carry-less multiplication where the machine has it.
std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes);

std::uint32_t crc32(std::string_view text);

// The checksum of two pieces one after the other; `second_size` is the size of the second in bytes.
std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

}  // namespace msprobe
