// SPDX-License-Identifier: Apache-2.0
#include "torchair/info_writer.h"

#include "core/crc32.h"
#include "core/stored_zip.h"

namespace msprobe::torchair {

std::string make_npz(const std::vector<std::pair<std::string, std::string>>& arrays) {
  std::vector<StoredMember> members;
  for (const auto& [array, content] : arrays) {
    members.push_back({array + ".npy", std::as_bytes(std::span(content)), crc32(content)});
  }
  std::string archive;
  const StoredZip zip = make_stored_zip(members, 1);
  for (const std::span<const std::byte> piece : zip.pieces) {
    archive.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return archive;
}

}  // namespace msprobe::torchair
