// SPDX-License-Identifier: Apache-2.0
// container_end in vectors: 64 bytes at a time become bit masks of quotes and brackets, so that
// only the last block of a container is looked at bracket by bracket.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/vector_targets.h"
#include "dump/json_scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dump/container_end.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace msprobe::dump::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = 64;

// One bit for each byte of a block, the lowest for the first.
struct BlockMasks {
  std::uint64_t quotes, backslashes, opens, closes;
};

#if HWY_TARGET == HWY_SCALAR

BlockMasks masks_of(const std::uint8_t* block) {
  BlockMasks masks{};
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (block[i] == '"') masks.quotes |= bit;
    if (block[i] == '\\') masks.backslashes |= bit;
    if ((block[i] | 0x20) == '{') masks.opens |= bit;
    if ((block[i] | 0x20) == '}') masks.closes |= bit;
  }
  return masks;
}

#else

template <class D, class M>
HWY_INLINE std::uint64_t bits_of(D d, M mask) {
  std::uint64_t bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits;
}

HWY_INLINE BlockMasks masks_of(const std::uint8_t* block) {
  const hn::CappedTag<std::uint8_t, kBlock> d;
  const auto quote = hn::Set(d, '"');
  const auto backslash = hn::Set(d, '\\');
  // '[' and ']' differ from '{' and '}' in this bit alone, and nothing else meets them.
  const auto bit = hn::Set(d, 0x20);
  const auto open = hn::Set(d, '{');
  const auto close = hn::Set(d, '}');
  BlockMasks masks{};
  for (std::size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
    const auto bytes = hn::LoadU(d, block + i);
    const auto folded = hn::Or(bytes, bit);
    masks.quotes |= bits_of(d, hn::Eq(bytes, quote)) << i;
    masks.backslashes |= bits_of(d, hn::Eq(bytes, backslash)) << i;
    masks.opens |= bits_of(d, hn::Eq(folded, open)) << i;
    masks.closes |= bits_of(d, hn::Eq(folded, close)) << i;
  }
  return masks;
}

#endif

// Bit i: whether an odd number of bits up to i is set.
HWY_INLINE std::uint64_t prefix_xor(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// The bytes behind a backslash. `carry` says whether the first one is, and is set for the
// next block. Backslashes are rare, so one at a time will do.
std::uint64_t escaped_by(std::uint64_t backslashes, bool& carry) {
  std::uint64_t escaped = carry ? 1 : 0;
  carry = false;
  backslashes &= ~escaped;
  while (backslashes != 0) {
    const std::uint64_t lowest = backslashes & (~backslashes + 1);
    if (lowest == std::uint64_t{1} << 63) {
      carry = true;
      break;
    }
    escaped |= lowest << 1;
    backslashes &= ~(lowest | lowest << 1);
  }
  return escaped;
}

std::size_t container_end_in_vectors(std::string_view text, std::size_t start) {
  std::size_t depth = 0;
  std::uint64_t in_string = 0;  // all bits set while the block begins inside a string
  bool escape_carry = false;
  std::uint8_t last[kBlock];
  for (std::size_t at = start; at < text.size(); at += kBlock) {
    const auto* block = reinterpret_cast<const std::uint8_t*>(text.data()) + at;
    if (text.size() - at < kBlock) {
      std::memset(last, 0, kBlock);
      std::memcpy(last, block, text.size() - at);
      block = last;
    }
    BlockMasks masks = masks_of(block);
    if (HWY_UNLIKELY(masks.backslashes != 0 || escape_carry)) {
      masks.quotes &= ~escaped_by(masks.backslashes, escape_carry);
    }
    const std::uint64_t inside = prefix_xor(masks.quotes) ^ in_string;
    in_string = (inside >> 63) != 0 ? ~std::uint64_t{0} : 0;
    masks.opens &= ~inside;
    masks.closes &= ~inside;
    const std::size_t closes = hwy::PopCount(masks.closes);
    if (HWY_LIKELY(depth > closes)) {
      depth += hwy::PopCount(masks.opens) - closes;
      continue;
    }
    for (std::uint64_t left = masks.opens | masks.closes; left != 0; left &= left - 1) {
      const std::uint64_t lowest = left & (~left + 1);
      if ((masks.opens & lowest) != 0) {
        ++depth;
      } else if (--depth == 0) {
        return at + hwy::Num0BitsBelowLS1Bit_Nonzero64(lowest) + 1;
      }
    }
  }
  return kNoEnd;
}

}  // namespace
}  // namespace msprobe::dump::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace msprobe::dump {

HWY_EXPORT(container_end_in_vectors);

std::size_t container_end(std::string_view text, std::size_t start) {
  return HWY_DYNAMIC_DISPATCH(container_end_in_vectors)(text, start);
}

}  // namespace msprobe::dump

#endif  // HWY_ONCE
