// SPDX-License-Identifier: Apache-2.0
#include "torchair/info_writer.h"

#include <fmt/format.h>

#include "core/crc32.h"

namespace msprobe::torchair {
namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) out.push_back(static_cast<char>(value & 0xff));
}

}  // namespace

std::string make_npz(const std::vector<std::pair<std::string, std::string>>& arrays) {
  constexpr std::uint64_t kVersion = 20;
  constexpr std::uint64_t kFirstOfJanuary1980 = 0x21;
  std::string archive;
  std::string directory;
  for (const auto& [array, content] : arrays) {
    const std::string name = array + ".npy";
    const std::uint32_t crc = crc32(content);
    std::string shared;
    put(shared, kVersion, 2);
    put(shared, 0, 4);  // flags, stored
    put(shared, 0, 2);
    put(shared, kFirstOfJanuary1980, 2);
    put(shared, crc, 4);
    put(shared, content.size(), 4);
    put(shared, content.size(), 4);
    put(shared, name.size(), 2);
    put(shared, 0, 2);
    const std::size_t header_at = archive.size();
    archive += "PK\x03\x04";
    archive += shared + name + content;
    directory += "PK\x01\x02";
    put(directory, kVersion, 2);
    directory += shared;
    put(directory, 0, 2 + 2 + 2 + 4);  // comment, disk, attributes
    put(directory, header_at, 4);
    directory += name;
  }
  const std::size_t directory_at = archive.size();
  archive += directory;
  archive += "PK\x05\x06";
  put(archive, 0, 4);
  put(archive, arrays.size(), 2);
  put(archive, arrays.size(), 2);
  put(archive, directory.size(), 4);
  put(archive, directory_at, 4);
  put(archive, 0, 2);
  return archive;
}

}  // namespace msprobe::torchair
