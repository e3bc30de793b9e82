// SPDX-License-Identifier: Apache-2.0
#include "ge/dump_file.h"

#include <cstring>

#include <fmt/format.h>

namespace msprobe::ge {
namespace {

constexpr std::uint32_t kNanoMagic = 0x5A5A5A5A;
constexpr std::size_t kNanoMagicAt = 8;

bool is_nano(std::span<const std::byte> bytes) {
  std::uint32_t magic = 0;
  if (bytes.size() <= kNanoMagicAt + sizeof(magic)) return false;
  std::memcpy(&magic, bytes.data() + kNanoMagicAt, sizeof(magic));
  return magic == kNanoMagic;
}

// Whether nothing at the start is as a writer of container A leaves it, cut anywhere or with a byte
// changed: neither a length a header can have nor the tag of the version behind it.
bool is_foreign(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kLongestHeader = 0x7fffffff;
  constexpr std::byte kVersionTag{0x0a};
  std::uint64_t length = 0;
  if (bytes.size() <= sizeof(length)) return false;
  std::memcpy(&length, bytes.data(), sizeof(length));
  return length > kLongestHeader && bytes[sizeof(length)] != kVersionTag;
}

}  // namespace

Result<DumpFile> read_dump_file(const FileBytes& file) {
  if (file.bytes.empty()) return fail(ErrorKind::kFormat, "the file is empty");
  // Byte 8 of container A is the tag of a field, never the magic of B.
  if (is_nano(file.bytes)) return read_nano(file.bytes);
  Result<DumpFile> prefixed = read_length_prefixed(file.bytes);
  if (prefixed) return prefixed;
  Result<DumpFile> single = read_single_message(file.bytes);
  if (single) return single;
  if (is_foreign(file.bytes)) {
    return fail(ErrorKind::kUnsupported, "the file is in no known dump format");
  }
  // The message for a file that is neither belongs to the normal container.
  return prefixed;
}

}  // namespace msprobe::ge
