// SPDX-License-Identifier: Apache-2.0
#include "report/packed.h"

#include <array>
#include <bit>
#include <vector>

#include <zlib.h>

namespace msprobe::report {
namespace {

constexpr int kDroppedBits = 24;  // of a double's 52 bits of fraction

// To the nearest, ties away from zero; the largest finite numbers stay finite.
std::uint64_t rounded(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kDroppedBits) - 1;
  constexpr std::uint64_t kExponent = std::uint64_t{0x7ff} << 52;
  const std::uint64_t up = (bits + (std::uint64_t{1} << (kDroppedBits - 1))) & ~kMask;
  if ((up & kExponent) == kExponent) return bits;
  return up;
}

template <class Word>
std::string planes(std::span<const Word> words) {
  std::string out(words.size() * sizeof(Word), '\0');
  for (std::size_t byte = 0; byte < sizeof(Word); ++byte) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      out[byte * words.size() + i] = static_cast<char>(words[i] >> (8 * byte));
    }
  }
  return out;
}

std::string deflated(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  // Cannot fail: the memory is the bound, the level is a known one.
  compress2(reinterpret_cast<Bytef*>(out.data()), &size,
            reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_DEFAULT_COMPRESSION);
  out.resize(size);
  return out;
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto byte = i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
      group = group << 8 | byte;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

std::string packed_bytes(std::string_view bytes) { return base64(deflated(bytes)); }

std::string packed_integers(std::span<const std::uint32_t> numbers) {
  return packed_bytes(planes(numbers));
}

std::string packed_numbers(std::span<const double> numbers) {
  std::vector<std::uint64_t> words;
  words.reserve(numbers.size());
  for (const double number : numbers) words.push_back(rounded(number));
  return packed_bytes(planes(std::span<const std::uint64_t>(words)));
}

}  // namespace msprobe::report
