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

}  // namespace

Result<DumpFile> read_dump_file(const FileBytes& file) {
  if (file.bytes.empty()) return fail(ErrorKind::kFormat, "the file is empty");
  // Byte 8 of container A is the tag of a field, never the magic of B.
  if (is_nano(file.bytes)) return read_nano(file.bytes);
  Result<DumpFile> prefixed = read_length_prefixed(file.bytes);
  if (prefixed) return prefixed;
  Result<DumpFile> single = read_single_message(file.bytes);
  // What is said of a file that is neither belongs to the normal container.
  return single ? single : prefixed;
}

}  // namespace msprobe::ge
