// SPDX-License-Identifier: Apache-2.0
#include "strict/uniform_draws.h"

#include <algorithm>
#include <cstring>

#include "core/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strict/uniform_draws.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace msprobe::strict::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::ScalableTag<std::uint32_t>;
using Pairs = hn::ScalableTag<std::uint64_t>;
using Numbers = hn::ScalableTag<double>;

// Of the MT19937.
constexpr std::size_t kLength = 624;
constexpr std::size_t kShift = 397;
constexpr std::uint32_t kMatrix = 0x9908b0df;
constexpr std::uint32_t kUpper = 0x80000000;

// state[i] for i from `begin` to `end`, each from state[i + 1] and state[i + from].
void twist(std::uint32_t* state, std::size_t begin, std::size_t end, std::ptrdiff_t from) {
  const Words d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    const auto next = hn::LoadU(d, state + i + 1);
    const auto upper = hn::And(hn::LoadU(d, state + i), hn::Set(d, kUpper));
    const auto mixed = hn::Or(upper, hn::AndNot(hn::Set(d, kUpper), next));
    const auto odd = hn::Sub(hn::Zero(d), hn::And(next, hn::Set(d, 1)));
    const auto added = hn::Xor(hn::ShiftRight<1>(mixed), hn::And(odd, hn::Set(d, kMatrix)));
    hn::StoreU(hn::Xor(hn::LoadU(d, state + i + from), added), d, state + i);
  }
  for (; i < end; ++i) {
    const std::uint32_t next = state[(i + 1) % kLength];
    const std::uint32_t mixed = (state[i] & kUpper) | (next & ~kUpper);
    const std::uint32_t other =
        state[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(i) + from)];
    state[i] = other ^ (mixed >> 1) ^ ((next & 1) != 0 ? kMatrix : 0);
  }
}

void temper(const std::uint32_t* state, std::uint32_t* words) {
  const Words d;
  const std::size_t lanes = hn::Lanes(d);
  static_assert(kLength % 16 == 0, "whole vectors");
  for (std::size_t i = 0; i < kLength; i += lanes) {
    auto y = hn::LoadU(d, state + i);
    y = hn::Xor(y, hn::ShiftRight<11>(y));
    y = hn::Xor(y, hn::And(hn::ShiftLeft<7>(y), hn::Set(d, 0x9d2c5680)));
    y = hn::Xor(y, hn::And(hn::ShiftLeft<15>(y), hn::Set(d, 0xefc60000)));
    hn::StoreU(hn::Xor(y, hn::ShiftRight<18>(y)), d, words + i);
  }
}

void next_words(std::uint32_t* state, std::uint32_t* words) {
  constexpr auto kBack = static_cast<std::ptrdiff_t>(kShift) - static_cast<std::ptrdiff_t>(kLength);
  twist(state, 0, kLength - kShift, kShift);
  twist(state, kLength - kShift, kLength - 1, kBack);
  twist(state, kLength - 1, kLength, kBack);
  temper(state, words);
}

HWY_INLINE hn::Vec<Pairs> pairs_at(const std::uint32_t* words) {
#if HWY_TARGET == HWY_SCALAR
  std::uint64_t pair = 0;
  std::memcpy(&pair, words, sizeof pair);
  return hn::Set(Pairs(), pair);
#else
  return hn::BitCast(Pairs(), hn::LoadU(Words(), words));
#endif
}

// The numbers between `low` and `high` that pairs of words stand for. The first word of a pair has
// the upper bits; 53 of the 64 count. Both parts of such a number are exact in float64, as the last
// bits of 2^84 and of 2^52.
class InRange {
 public:
  InRange(double low, double high) : low_(low), width_(high - low) {}

  HWY_INLINE hn::Vec<Numbers> operator()(const std::uint32_t* words) const {
    const Numbers d;
    const Pairs p;
    const auto pair = pairs_at(words);
    const auto upper = hn::Or(hn::And(pair, hn::Set(p, 0x1fffff)), hn::Set(p, 0x4530000000000000));
    const auto lower = hn::Or(hn::ShiftRight<32>(pair), hn::Set(p, 0x4330000000000000));
    const auto above = hn::Sub(hn::BitCast(d, upper), hn::Set(d, 0x1p84 + 0x1p52));
    const auto unit = hn::Mul(hn::Add(above, hn::BitCast(d, lower)), hn::Set(d, 0x1p-53));
    return hn::Add(hn::Mul(unit, hn::Set(d, width_)), hn::Set(d, low_));
  }

 private:
  double low_, width_;
};

// values = change(values, draws), some vectors and what is left.
template <class Change>
HWY_INLINE void for_each(const std::uint32_t* words, double* values, std::size_t count,
                         const InRange& draw, const Change& change) {
  const Numbers d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(change(hn::LoadU(d, values + i), draw(words + 2 * i)), d, values + i);
  }
  if (i == count) return;
  HWY_ALIGN std::uint32_t last_words[2 * hn::MaxLanes(Numbers())] = {};
  HWY_ALIGN double last[hn::MaxLanes(Numbers())] = {};
  std::copy_n(words + 2 * i, 2 * (count - i), last_words);
  std::copy_n(values + i, count - i, last);
  hn::Store(change(hn::Load(d, last), draw(last_words)), d, last);
  std::copy_n(last, count - i, values + i);
}

void move_numbers(const std::uint32_t* words, double* values, std::size_t count, const Move& how) {
  using Vector = hn::Vec<Numbers>;
  const Numbers d;
  const InRange draw(how.low, how.high);
  const auto moved = [&](Vector x, Vector r) {
    return hn::Mul(x, hn::Add(hn::Mul(r, hn::Set(d, how.size)), hn::Set(d, 1)));
  };
  if (how.more == 0) return for_each(words, values, count, draw, moved);
  for_each(words, values, count, draw, [&](Vector x, Vector r) {
    const auto away = hn::Mul(r, hn::Set(d, how.more));
    const auto signed_away = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(away), away);
    return hn::Add(moved(x, r), signed_away);
  });
}

}  // namespace
}  // namespace msprobe::strict::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace msprobe::strict {

HWY_EXPORT(next_words);
HWY_EXPORT(move_numbers);

UniformDraws::UniformDraws(std::uint64_t seed) : state_(), words_() {
  state_[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t i = 1; i < kWords; ++i) {
    const std::uint32_t before = state_[i - 1];
    state_[i] = 1812433253 * (before ^ (before >> 30)) + i;
  }
}

std::span<const std::uint32_t> UniformDraws::words() {
  if (used_ == kWords) {
    HWY_DYNAMIC_DISPATCH(next_words)(state_.data(), words_.data());
    used_ = 0;
  }
  return std::span(words_).subspan(used_);
}

void UniformDraws::move(std::span<double> values, const Move& how) {
  while (!values.empty()) {
    const std::span<const std::uint32_t> drawn = words();
    const std::size_t count = std::min(values.size(), drawn.size() / 2);
    HWY_DYNAMIC_DISPATCH(move_numbers)(drawn.data(), values.data(), count, how);
    used_ += 2 * count;
    values = values.subspan(count);
  }
}

}  // namespace msprobe::strict

#endif  // HWY_ONCE
