// SPDX-License-Identifier: Apache-2.0
#include "arguments/philox_words.h"

#include <algorithm>
#include <array>

#include "core/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "arguments/philox_words.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace msprobe::arguments::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::ScalableTag<std::uint32_t>;
using Word = hn::Vec<Words>;

struct Halves {
  Word high, low;
};

// Both halves of the products, lane by lane.
HWY_INLINE Halves product(Word factor, std::uint32_t multiplier) {
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t whole = std::uint64_t{hn::GetLane(factor)} * multiplier;
  return {hn::Set(Words(), static_cast<std::uint32_t>(whole >> 32)),
          hn::Set(Words(), static_cast<std::uint32_t>(whole))};
#else
  const Words d;
  const hn::RepartitionToWide<Words> wide;
  const Word by = hn::Set(d, multiplier);
  const auto even = hn::MulEven(factor, by);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, factor))), by);
  return {hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
#endif
}

// As many blocks as a vector has lanes, one after another.
HWY_INLINE void write_blocks(std::uint64_t key, std::uint64_t counter, std::uint32_t* words) {
  const Words d;
  HWY_ALIGN std::uint32_t low[hn::MaxLanes(Words())];
  HWY_ALIGN std::uint32_t high[hn::MaxLanes(Words())];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    low[i] = static_cast<std::uint32_t>(counter + i);
    high[i] = static_cast<std::uint32_t>((counter + i) >> 32);
  }
  Word a = hn::Load(d, low);
  Word b = hn::Load(d, high);
  Word c = hn::Zero(d);
  Word e = hn::Zero(d);
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const Halves of_a = product(a, kPhiloxMultiplier0);
    const Halves of_c = product(c, kPhiloxMultiplier1);
    a = hn::Xor(hn::Xor(of_c.high, b), hn::Set(d, key0));
    b = of_c.low;
    c = hn::Xor(hn::Xor(of_a.high, e), hn::Set(d, key1));
    e = of_a.low;
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  hn::StoreInterleaved4(a, b, c, e, d, words);
}

void write_words(std::uint64_t key, std::uint64_t counter, std::uint32_t* words,
                 std::size_t count) {
  const std::size_t lanes = hn::Lanes(Words());
  for (; count >= 4 * lanes; counter += lanes, words += 4 * lanes, count -= 4 * lanes) {
    write_blocks(key, counter, words);
  }
  if (count == 0) return;
  HWY_ALIGN std::uint32_t last[4 * hn::MaxLanes(Words())];
  write_blocks(key, counter, last);
  std::copy_n(last, count, words);
}

void write_floats(const std::uint32_t* words, std::size_t count, double low, double width,
                  float* values) {
  using Numbers = hn::ScalableTag<double>;
  const Numbers d;
  const hn::Rebind<std::int32_t, Numbers> integers;
  const hn::Rebind<std::uint32_t, Numbers> half;
  const hn::Rebind<float, Numbers> floats;
  const std::size_t lanes = hn::Lanes(d);
  const auto value_of = [&](const std::uint32_t* from) HWY_ATTR {
    const auto upper = hn::ShiftRight<8>(hn::LoadU(half, from));
    const auto unit = hn::Mul(hn::PromoteTo(d, hn::BitCast(integers, upper)), hn::Set(d, 0x1p-24));
    return hn::DemoteTo(floats, hn::Add(hn::Mul(unit, hn::Set(d, width)), hn::Set(d, low)));
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(value_of(words + i), floats, values + i);
  if (i == count) return;
  HWY_ALIGN std::uint32_t last_words[hn::MaxLanes(Numbers())] = {};
  HWY_ALIGN float last[hn::MaxLanes(Numbers())] = {};
  std::copy_n(words + i, count - i, last_words);
  hn::StoreU(value_of(last_words), floats, last);
  std::copy_n(last, count - i, values + i);
}

}  // namespace
}  // namespace msprobe::arguments::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace msprobe::arguments {

HWY_EXPORT(write_words);
HWY_EXPORT(write_floats);

void philox_words(std::uint64_t key, std::uint64_t counter, std::span<std::uint32_t> words) {
  HWY_DYNAMIC_DISPATCH(write_words)(key, counter, words.data(), words.size());
}

void uniform_floats(std::span<const std::uint32_t> words, double low, double width,
                    std::span<float> values) {
  HWY_DYNAMIC_DISPATCH(write_floats)(words.data(), words.size(), low, width, values.data());
}

}  // namespace msprobe::arguments

#endif  // HWY_ONCE
