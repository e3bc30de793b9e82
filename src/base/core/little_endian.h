// SPDX-License-Identifier: Apache-2.0
// Numbers and texts one after another, as little-endian file formats lay them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msprobe {

class LittleEndian {
 public:
  LittleEndian& u16(std::uint64_t value) { return number(value, 2); }
  LittleEndian& u32(std::uint64_t value) { return number(value, 4); }
  LittleEndian& u64(std::uint64_t value) { return number(value, 8); }
  LittleEndian& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  const std::string& str() const { return bytes_; }

 private:
  LittleEndian& number(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & 0xffU);
    return *this;
  }
  std::string bytes_;
};

}  // namespace msprobe
