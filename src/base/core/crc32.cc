// SPDX-License-Identifier: Apache-2.0
#include "core/crc32.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include "core/crc32_pmull.h"
#endif

namespace msprobe {
namespace {

std::uint32_t crc32_zlib(std::uint32_t crc, const std::byte* bytes, std::size_t count) {
  return static_cast<std::uint32_t>(
      ::crc32_z(crc, reinterpret_cast<const unsigned char*>(bytes), count));
}

#if defined(__x86_64__)

// Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ" (Intel, 2009): four
// 128-bit remainders are folded over the data, then into one, which is reduced (Barrett). Numbers
// are x^n mod P for the bit-reversed polynomial of zlib, named by n.
constexpr long long kX1056 = 0x1e88ef372, kX992 = 0x14a7fe880;  // folding by 128 bytes
constexpr long long kX544 = 0x154442bd4, kX480 = 0x1c6e41596;   // folding by 64 bytes
constexpr long long kX160 = 0x1751997d0, kX96 = 0x0ccaa009e;    // folding by 16 bytes
constexpr long long kX64 = 0x163cd6124;
constexpr long long kPolynomial = 0x1db710641, kMu = 0x1f7011641;

#define MSPROBE_CLMUL __attribute__((target("pclmul,sse4.1")))

MSPROBE_CLMUL inline __m128i fold_block(__m128i remainder, __m128i constants, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(remainder, constants, 0x00);
  const __m128i high = _mm_clmulepi64_si128(remainder, constants, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

MSPROBE_CLMUL inline __m128i load_block(const std::byte* place) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(place));
}

MSPROBE_CLMUL std::uint32_t reduce(__m128i remainder) {
  const __m128i low_word = _mm_setr_epi32(-1, 0, -1, 0);
  __m128i x = _mm_xor_si128(_mm_srli_si128(remainder, 8),
                            _mm_clmulepi64_si128(remainder, _mm_set_epi64x(kX96, kX160), 0x10));
  x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(_mm_and_si128(x, low_word),
                                                               _mm_set_epi64x(0, kX64), 0x00));
  const __m128i barrett = _mm_set_epi64x(kMu, kPolynomial);
  __m128i t = _mm_clmulepi64_si128(_mm_and_si128(x, low_word), barrett, 0x10);
  t = _mm_clmulepi64_si128(_mm_and_si128(t, low_word), barrett, 0x00);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(t, x), 1));
}

// The checksum of what is folded in `remainder` and of the blocks behind it.
// REQUIRES: count is a multiple of 16.
MSPROBE_CLMUL std::uint32_t fold_rest(__m128i remainder, const std::byte* bytes,
                                      std::size_t count) {
  const __m128i by_16 = _mm_set_epi64x(kX96, kX160);
  for (; count >= 16; bytes += 16, count -= 16) {
    remainder = fold_block(remainder, by_16, load_block(bytes));
  }
  return ~reduce(remainder);
}

// REQUIRES: count >= 64 and a multiple of 16.
MSPROBE_CLMUL std::uint32_t crc32_clmul(std::uint32_t crc, const std::byte* bytes,
                                        std::size_t count) {
  const __m128i by_64 = _mm_set_epi64x(kX480, kX544);
  const __m128i by_16 = _mm_set_epi64x(kX96, kX160);
  __m128i a = _mm_xor_si128(load_block(bytes), _mm_cvtsi32_si128(static_cast<int>(~crc)));
  __m128i b = load_block(bytes + 16);
  __m128i c = load_block(bytes + 32);
  __m128i d = load_block(bytes + 48);
  for (bytes += 64, count -= 64; count >= 64; bytes += 64, count -= 64) {
    a = fold_block(a, by_64, load_block(bytes));
    b = fold_block(b, by_64, load_block(bytes + 16));
    c = fold_block(c, by_64, load_block(bytes + 32));
    d = fold_block(d, by_64, load_block(bytes + 48));
  }
  a = fold_block(a, by_16, b);
  a = fold_block(a, by_16, c);
  a = fold_block(a, by_16, d);
  return fold_rest(a, bytes, count);
}

// The same with two blocks in a vector.
#define MSPROBE_WIDE_CLMUL __attribute__((target("vpclmulqdq,pclmul,avx2")))

MSPROBE_WIDE_CLMUL inline __m256i load_blocks(const std::byte* place) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(place));
}

MSPROBE_WIDE_CLMUL inline __m256i fold_blocks(__m256i remainders, __m256i constants, __m256i next) {
  const __m256i low = _mm256_clmulepi64_epi128(remainders, constants, 0x00);
  const __m256i high = _mm256_clmulepi64_epi128(remainders, constants, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(low, high), next);
}

// REQUIRES: count >= 128 and a multiple of 16.
MSPROBE_WIDE_CLMUL std::uint32_t crc32_wide_clmul(std::uint32_t crc, const std::byte* bytes,
                                                  std::size_t count) {
  const __m256i by_128 = _mm256_set_epi64x(kX992, kX1056, kX992, kX1056);
  const __m128i by_16 = _mm_set_epi64x(kX96, kX160);
  const __m256i start = _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(~crc)));
  __m256i a = _mm256_xor_si256(load_blocks(bytes), start);
  __m256i b = load_blocks(bytes + 32);
  __m256i c = load_blocks(bytes + 64);
  __m256i d = load_blocks(bytes + 96);
  for (bytes += 128, count -= 128; count >= 128; bytes += 128, count -= 128) {
    a = fold_blocks(a, by_128, load_blocks(bytes));
    b = fold_blocks(b, by_128, load_blocks(bytes + 32));
    c = fold_blocks(c, by_128, load_blocks(bytes + 64));
    d = fold_blocks(d, by_128, load_blocks(bytes + 96));
  }
  __m128i folded = _mm256_castsi256_si128(a);
  folded = fold_block(folded, by_16, _mm256_extracti128_si256(a, 1));
  for (const __m256i next : {b, c, d}) {
    folded = fold_block(folded, by_16, _mm256_castsi256_si128(next));
    folded = fold_block(folded, by_16, _mm256_extracti128_si256(next, 1));
  }
  return fold_rest(folded, bytes, count);
}

#undef MSPROBE_WIDE_CLMUL
#undef MSPROBE_CLMUL

bool has_clmul() {
  static const bool found = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return found;
}

// From here on the wide vectors pay; what is shorter takes the other way on every machine.
constexpr std::size_t kWideFrom = 1024;

bool has_wide_clmul() {
  static const bool found =
      has_clmul() && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2");
  return found;
}

#endif

}  // namespace

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  if (bytes.size() >= 64 && has_clmul()) {
    const std::size_t folded = bytes.size() / 16 * 16;
    const bool is_wide = folded >= kWideFrom && has_wide_clmul();
    crc = (is_wide ? &crc32_wide_clmul : &crc32_clmul)(crc, bytes.data(), folded);
    bytes = bytes.subspan(folded);
  }
#else
  if (bytes.size() >= 64 && has_pmull()) {
    const std::size_t folded = bytes.size() / 16 * 16;
    crc = crc32_pmull(crc, bytes.data(), folded);
    bytes = bytes.subspan(folded);
  }
#endif
  return crc32_zlib(crc, bytes.data(), bytes.size());
}

std::uint32_t crc32(std::string_view text) { return crc32(0, std::as_bytes(std::span(text))); }

std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
  return static_cast<std::uint32_t>(
      ::crc32_combine(first, second, static_cast<z_off_t>(second_size)));
}

}  // namespace msprobe
