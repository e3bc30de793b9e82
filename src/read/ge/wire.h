// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format, read in place. Dump headers use a dozen fields of it, are untrusted and
// sit in front of payloads of many gigabytes, so a small bounded reader serves better than a
// message library that copies: no generated code, no start-up cost, no second copy of protobuf
// beside the one a PyTorch wheel exports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace msprobe::ge {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;           // of a number
  std::span<const std::byte> bytes;  // of kBytes

  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// Goes over the fields of one message.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // The next field; false at the end and at the first byte that no message has.
  bool next(WireField& field);
  bool failed() const { return failed_; }
  std::size_t at() const { return at_; }  // where it failed, or what is read so far

  // One bare number, as packed fields hold them.
  bool number(std::uint64_t& value);
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  bool fail() {
    failed_ = true;
    return false;
  }
  bool fixed(std::size_t count, std::uint64_t& value);

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace msprobe::ge
