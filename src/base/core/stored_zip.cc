// SPDX-License-Identifier: Apache-2.0
#include "core/stored_zip.h"

#include <algorithm>

#include "core/little_endian.h"

namespace msprobe {
namespace {

constexpr std::uint64_t kMax32 = 0xffffffff;

// A member and where its local header is.
struct Placed {
  const StoredMember& member;
  std::uint64_t offset = 0;

  std::uint64_t size() const { return member.bytes.size(); }
  bool needs_zip64() const { return size() >= kMax32 || offset >= kMax32; }
};

void common_fields(LittleEndian& out, const Placed& placed, std::uint64_t extra_size) {
  const std::uint64_t size = placed.needs_zip64() ? kMax32 : placed.size();
  out.u16(0).u16(0).u16(0).u16(0x0021);  // flags, stored, 1980-01-01 00:00
  out.u32(placed.member.crc).u32(size).u32(size);
  out.u16(placed.member.name.size()).u16(extra_size);
}

std::string local_header(const Placed& placed, std::uint64_t alignment) {
  constexpr std::uint64_t kFixedBytes = 30;
  LittleEndian extra;
  if (placed.needs_zip64()) extra.u16(1).u16(16).u64(placed.size()).u64(placed.size());
  if (alignment > 1) {
    const std::uint64_t end =
        placed.offset + kFixedBytes + placed.member.name.size() + extra.str().size() + 4;
    const std::uint64_t padding = (alignment - end % alignment) % alignment;
    extra.text("FB").u16(padding).text(std::string(padding, 'Z'));
  }
  LittleEndian out;
  out.text("PK\x03\x04").u16(placed.needs_zip64() ? 45 : 20);
  common_fields(out, placed, extra.str().size());
  return out.text(placed.member.name).text(extra.str()).str();
}

std::string central_entry(const Placed& placed) {
  LittleEndian extra;
  if (placed.needs_zip64()) {
    extra.u16(1).u16(24).u64(placed.size()).u64(placed.size()).u64(placed.offset);
  }
  LittleEndian out;
  out.text("PK\x01\x02").u16(0).u16(placed.needs_zip64() ? 45 : 20);
  common_fields(out, placed, extra.str().size());
  out.u16(0).u16(0).u16(0).u32(0).u32(placed.needs_zip64() ? kMax32 : placed.offset);
  return out.text(placed.member.name).text(extra.str()).str();
}

std::string end_of_archive(std::size_t count, std::uint64_t offset, std::uint64_t size) {
  LittleEndian out;
  if (offset >= kMax32) {
    out.text("PK\x06\x06").u64(44).u16(45).u16(45).u32(0).u32(0).u64(count).u64(count);
    out.u64(size).u64(offset);
    out.text("PK\x06\x07").u32(0).u64(offset + size).u32(1);
  }
  out.text("PK\x05\x06").u16(0).u16(0).u16(count).u16(count).u32(size);
  return out.u32(std::min(offset, kMax32)).u16(0).str();
}

}  // namespace

StoredZip make_stored_zip(std::span<const StoredMember> members, std::uint64_t alignment) {
  StoredZip archive;
  archive.texts.reserve(members.size() + 1);  // the pieces point into its strings
  const auto add_text = [&](std::string text) {
    archive.texts.push_back(std::move(text));
    archive.pieces.push_back(std::as_bytes(std::span(archive.texts.back())));
  };
  std::string directory;
  std::uint64_t offset = 0;
  for (const StoredMember& member : members) {
    const Placed placed{member, offset};
    add_text(local_header(placed, alignment));
    archive.pieces.push_back(member.bytes);
    directory += central_entry(placed);
    offset += archive.texts.back().size() + member.bytes.size();
  }
  add_text(directory + end_of_archive(members.size(), offset, directory.size()));
  return archive;
}

}  // namespace msprobe
