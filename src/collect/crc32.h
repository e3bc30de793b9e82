// CRC-32 with the polynomial of zlib: what the md5 field of a dump holds, and every member of a
// zip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace msprobe::collect {

// Goes on from `crc`, which is 0 at first. Uses carry-less multiplication where the machine has it.
std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes);

}  // namespace msprobe::collect
