// SPDX-License-Identifier: Apache-2.0
// Files made byte by byte, so that a test can break any part of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zlib.h>

#include "core/crc32.h"
#include "core/file.h"

namespace msprobe::dump {

struct MadeMember {
  std::string name;
  std::string content;                 // as it is in the archive
  std::uint16_t method = 0;            // 0: stored, 8: deflated
  std::uint64_t claimed_size = ~0ULL;  // of the content once inflated; default: its real size
  std::uint32_t crc = 0;               // 0: the right one for stored members
  std::uint16_t flags = 0;
};

inline void put_number(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) out.push_back(static_cast<char>(value & 0xff));
}

inline std::string make_zip(const std::vector<MadeMember>& members) {
  std::string archive;
  std::string directory;
  for (const MadeMember& member : members) {
    const std::uint64_t size =
        member.claimed_size == ~0ULL ? member.content.size() : member.claimed_size;
    std::string shared;
    put_number(shared, member.flags, 2);
    put_number(shared, member.method, 2);
    put_number(shared, 0, 4);
    put_number(shared, member.crc == 0 ? crc32(member.content) : member.crc, 4);
    put_number(shared, member.content.size(), 4);
    put_number(shared, size, 4);
    put_number(shared, member.name.size(), 2);
    put_number(shared, 0, 2);
    const std::size_t header_at = archive.size();
    archive += "PK\x03\x04";
    put_number(archive, 20, 2);
    archive += shared + member.name + member.content;
    directory += "PK\x01\x02";
    put_number(directory, 20, 2);
    put_number(directory, 20, 2);
    directory += shared;
    put_number(directory, 0, 10);
    put_number(directory, header_at, 4);
    directory += member.name;
  }
  const std::size_t directory_at = archive.size();
  archive += directory + "PK\x05\x06";
  put_number(archive, 0, 4);
  put_number(archive, members.size(), 2);
  put_number(archive, members.size(), 2);
  put_number(archive, directory.size(), 4);
  put_number(archive, directory_at, 4);
  put_number(archive, 0, 2);
  return archive;
}

inline std::string deflated(std::string_view text) {
  std::string packed(compressBound(static_cast<uLong>(text.size())) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline FileBytes file_of(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const auto bytes = std::as_bytes(std::span(*owner));
  return {std::move(owner), bytes};
}

}  // namespace msprobe::dump
