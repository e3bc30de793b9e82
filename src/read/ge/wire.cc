// SPDX-License-Identifier: Apache-2.0
#include "ge/wire.h"

#include <bit>
#include <cstring>

namespace msprobe::ge {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

bool WireReader::number(std::uint64_t& value) {
  constexpr int kLongest = 10;  // bytes of a 64-bit number
  value = 0;
  for (int i = 0; i < kLongest && at_ < bytes_.size(); ++i) {
    const auto byte = std::to_integer<std::uint64_t>(bytes_[at_++]);
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) return true;
  }
  return fail();
}

bool WireReader::fixed(std::size_t count, std::uint64_t& value) {
  if (bytes_.size() - at_ < count) return fail();
  value = 0;
  std::memcpy(&value, bytes_.data() + at_, count);
  at_ += count;
  return true;
}

bool WireReader::next(WireField& field) {
  if (failed_ || at_end()) return false;
  std::uint64_t key = 0;
  if (!number(key)) return false;
  if (key >> 3 == 0 || key >> 3 > (1U << 29) - 1) return fail();
  field.number = static_cast<std::uint32_t>(key >> 3);
  field.type = static_cast<WireType>(key & 7);
  field.bytes = {};
  switch (field.type) {
    case WireType::kVarint:
      return number(field.value);
    case WireType::kFixed64:
      return fixed(8, field.value);
    case WireType::kFixed32:
      return fixed(4, field.value);
    case WireType::kBytes: {
      std::uint64_t size = 0;
      if (!number(size)) return false;
      if (size > bytes_.size() - at_) return fail();
      field.bytes = bytes_.subspan(at_, size);
      at_ += size;
      return true;
    }
  }
  return fail();
}

}  // namespace msprobe::ge
