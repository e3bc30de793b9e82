// SPDX-License-Identifier: Apache-2.0
// Zip archives as torch.save and numpy.savez write them: the directory read in place, one member at
// a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/result.h"

namespace msprobe::dump {

struct ZipMember {
  std::string_view name;
  bool readable = true;  // not encrypted, stored or deflated
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t packed_size = 0;  // bytes in the archive
  std::uint64_t size = 0;         // bytes of the content; checked against packed_size
  std::uint64_t header_at = 0;    // of the local header, in the file
};

// A checksum that the reader of the bytes verifies itself, while it goes over them anyway. The
// bytes are those of the file.
struct LateChecksum {
  std::span<const std::byte> bytes;
  std::uint32_t crc = 0;
  std::string damaged;  // what to say if it is another one
};

// Bytes of a member and what keeps them alive: the file for a stored member, memory for a deflated
// one.
using MemberBytes = FileBytes;

class ZipArchive {
 public:
  // Finds the directory and checks every row of it. `name` opens every message.
  static Result<ZipArchive> open(const FileBytes& file, std::string_view name);

  std::size_t size() const { return count_; }
  // Calls on_member(const ZipMember&) for each member, in the order of the directory.
  template <class OnMember>
  void each(OnMember on_member) const {
    std::size_t at = directory_at_;
    for (std::size_t i = 0; i < count_; ++i) on_member(*row(at));
  }
  // The only member of that name; std::nullopt if there is none.
  std::optional<ZipMember> find(std::string_view name) const;

  // The content, checksum verified unless `late` takes it. More than `max_bytes` is an error before
  // memory is taken.
  Result<MemberBytes> read(const ZipMember& member, std::size_t max_bytes,
                           LateChecksum* late = nullptr) const;
  // The first bytes of the content, at most `count`, without checksum.
  Result<std::string> read_start(const ZipMember& member, std::size_t count) const;
  // The content in pieces, for members that are larger than one wants to hold; checksum verified.
  Result<void> stream(const ZipMember& member,
                      const std::function<void(std::string_view)>& take) const;

 private:
  explicit ZipArchive(const FileBytes& file, std::string_view name) : file_(file), name_(name) {}
  Result<bool> find_directory();
  Result<bool> check_directory();
  std::optional<ZipMember> row(std::size_t& at) const;
  Result<std::span<const std::byte>> packed(const ZipMember& member) const;
  Failure failure(ErrorKind kind, std::uint64_t at, std::string_view text) const;

  FileBytes file_;
  std::string name_;
  std::uint64_t directory_at_ = 0;
  std::uint64_t directory_size_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace msprobe::dump
