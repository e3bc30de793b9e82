// SPDX-License-Identifier: Apache-2.0
// Little-endian numbers out of bytes that may end anywhere.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace msprobe::dump {

static_assert(std::endian::native == std::endian::little, "the readers copy little-endian numbers");

// A place in a span that only moves forward. After the first read beyond the end every read fails.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes, std::size_t at = 0)
      : bytes_(bytes), at_(at <= bytes.size() ? at : bytes.size() + 1) {}

  bool failed() const { return at_ > bytes_.size(); }
  std::size_t at() const { return at_; }
  std::size_t left() const { return failed() ? 0 : bytes_.size() - at_; }

  // Zero when the bytes end before; failed() tells.
  template <class T>
  T number() {
    T value{};
    const std::span<const std::byte> source = take(sizeof(T));
    if (!source.empty()) std::memcpy(&value, source.data(), sizeof(T));
    return value;
  }

  std::span<const std::byte> take(std::size_t count) {
    if (count > left()) {
      at_ = bytes_.size() + 1;
      return {};
    }
    const std::span<const std::byte> taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  std::string_view text(std::size_t count) {
    const std::span<const std::byte> taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  // The text up to the next line feed, which is taken too.
  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, left());
    const std::size_t end = failed() ? std::string_view::npos : rest.find('\n');
    if (end == std::string_view::npos) {
      at_ = bytes_.size() + 1;
      return {};
    }
    at_ += end + 1;
    return rest.substr(0, end);
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_;
};

}  // namespace msprobe::dump
