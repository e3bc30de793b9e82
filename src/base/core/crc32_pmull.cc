// SPDX-License-Identifier: Apache-2.0
#include "core/crc32_pmull.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <zlib.h>

namespace msprobe {
namespace {

#define MSPROBE_PMULL __attribute__((target("+crypto")))

// As in crc32.cc: numbers are x^n mod P for the bit-reversed polynomial, named by n.
struct Factors {
  poly64_t low, high;
};
constexpr Factors kBy64 = {0x154442bd4, 0x1c6e41596};
constexpr Factors kBy16 = {0x1751997d0, 0x0ccaa009e};

MSPROBE_PMULL inline uint64x2_t fold_block(uint64x2_t remainder, Factors by, uint64x2_t next) {
  const poly64x2_t factor = vreinterpretq_p64_u64(remainder);
  const uint64x2_t low = vreinterpretq_u64_p128(vmull_p64(vgetq_lane_p64(factor, 0), by.low));
  const uint64x2_t high = vreinterpretq_u64_p128(vmull_p64(vgetq_lane_p64(factor, 1), by.high));
  return veorq_u64(veorq_u64(low, high), next);
}

MSPROBE_PMULL inline uint64x2_t load_block(const std::byte* place) {
  return vreinterpretq_u64_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(place)));
}

}  // namespace

bool has_pmull() {
  static const bool found = (::getauxval(AT_HWCAP) & HWCAP_PMULL) != 0;
  return found;
}

MSPROBE_PMULL std::uint32_t crc32_pmull(std::uint32_t crc, const std::byte* bytes,
                                        std::size_t count) {
  uint64x2_t a = veorq_u64(load_block(bytes), vsetq_lane_u64(~crc, vdupq_n_u64(0), 0));
  uint64x2_t b = load_block(bytes + 16);
  uint64x2_t c = load_block(bytes + 32);
  uint64x2_t d = load_block(bytes + 48);
  for (bytes += 64, count -= 64; count >= 64; bytes += 64, count -= 64) {
    a = fold_block(a, kBy64, load_block(bytes));
    b = fold_block(b, kBy64, load_block(bytes + 16));
    c = fold_block(c, kBy64, load_block(bytes + 32));
    d = fold_block(d, kBy64, load_block(bytes + 48));
  }
  a = fold_block(a, kBy16, b);
  a = fold_block(a, kBy16, c);
  a = fold_block(a, kBy16, d);
  for (; count >= 16; bytes += 16, count -= 16) a = fold_block(a, kBy16, load_block(bytes));
  // What is left has the checksum of the whole, begun at a remainder of 0.
  std::uint8_t left[16];
  vst1q_u8(left, vreinterpretq_u8_u64(a));
  return static_cast<std::uint32_t>(::crc32_z(0xffffffff, left, sizeof left));
}

#undef MSPROBE_PMULL

}  // namespace msprobe

#else

namespace msprobe {

bool has_pmull() { return false; }
std::uint32_t crc32_pmull(std::uint32_t crc, const std::byte* /*bytes*/, std::size_t /*count*/) {
  return crc;
}

}  // namespace msprobe

#endif
