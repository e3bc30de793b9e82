// SPDX-License-Identifier: Apache-2.0
// A zip archive whose members are stored as they are: what torch.save and numpy.savez write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace msprobe {

struct StoredMember {
  std::string name;
  std::span<const std::byte> bytes;
  std::uint32_t crc = 0;  // CRC-32 of the bytes
};

// The file is the pieces one after another. They point into `texts` and to the members' bytes.
struct StoredZip {
  std::vector<std::string> texts;
  std::vector<std::span<const std::byte>> pieces;
};

// The bytes of every member begin at a multiple of `alignment`, moved there by the padding field of
// PyTorch; 1 for archives without it. Members and archives above 4 GiB are zip64.
StoredZip make_stored_zip(std::span<const StoredMember> members, std::uint64_t alignment);

}  // namespace msprobe
