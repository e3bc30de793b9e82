// SPDX-License-Identifier: Apache-2.0
#include "identify/sum_order.h"

#include <algorithm>
#include <cmath>

namespace msprobe::identify {
namespace {

// Enough for four blocks of the largest unit; small enough for the counts to be exact in bfloat16.
constexpr std::int64_t kTerms = 256;
// Terms whose meetings with all others are observed: both ends, borders of usual blocks, others.
constexpr std::int64_t kAnchors[] = {0,  1,  2,   7,   8,   30,  63,  64,
                                     85, 99, 127, 128, 161, 200, 222, 255};
constexpr std::int64_t kSide = 32;

// Both are factors: M is large * large.
struct Masks {
  float large, small;
};

// From wide sums to those kept in float16.
std::vector<Masks> masks_for(Format format) {
  constexpr Masks kEverywhere{0x1p15F, 0x1p-7F};
  constexpr Masks kNarrow{0x1p7F, 0x1p-3F};  // all small terms are 2^-12 of M
  if (format == Format::kFloat16) return {kEverywhere, kNarrow};
  if (format == Format::kFloat8) return {{0x1p8F, 0x1p-9F}, {0x1p8F, 0x1p-6F}, kNarrow};
  return {{0x1p50F, 0x1p-10F}, kEverywhere, kNarrow};
}

std::vector<Meeting> wanted_meetings() {
  std::vector<Meeting> meetings;
  for (const std::int64_t anchor : kAnchors) {
    for (std::int64_t other = 0; other < kTerms; ++other) {
      if (other != anchor) meetings.push_back({anchor, other, 0});
    }
  }
  return meetings;
}

// Every meeting has its own row and column; the result is on the diagonal: the small terms
// that are left over.
std::vector<double> left_over(const Multiply& multiply, const Masks& masks,
                              std::span<const Meeting> meetings, float sign) {
  const auto count = static_cast<std::int64_t>(meetings.size());
  std::vector<float> left(static_cast<std::size_t>(kSide * kTerms), masks.small);
  std::vector<float> right(left.size(), masks.small);
  for (std::int64_t at = 0; at < count; ++at) {
    const Meeting& meeting = meetings[static_cast<std::size_t>(at)];
    const auto in_row = [&](std::int64_t term) -> float& {
      return left[static_cast<std::size_t>(at * kTerms + term)];
    };
    const auto in_column = [&](std::int64_t term) -> float& {
      return right[static_cast<std::size_t>(term * kSide + at)];
    };
    in_row(meeting.first) = sign * masks.large;
    in_row(meeting.second) = -sign * masks.large;
    in_column(meeting.first) = in_column(meeting.second) = masks.large;
  }
  const std::vector<float> sums = multiply({kSide, kTerms, kSide}, left, right);
  const double unit = static_cast<double>(masks.small) * masks.small;
  std::vector<double> counts;
  for (std::int64_t at = 0; at < count; ++at) {
    counts.push_back(sums[static_cast<std::size_t>(at * kSide + at)] / unit);
  }
  return counts;
}

bool is_count(double value) {
  return value >= 0 && value <= kTerms - 2 && value == std::floor(value);
}

// A sum that is cut toward zero does not swallow a small term of the other sign, so the one that
// comes first must have the sign of the small terms. Which one that is, is not known: both are
// tried.
bool observe(const Multiply& multiply, const Masks& masks, std::span<Meeting> meetings) {
  const std::vector<double> one = left_over(multiply, masks, meetings, 1);
  const std::vector<double> other = left_over(multiply, masks, meetings, -1);
  for (std::size_t at = 0; at < meetings.size(); ++at) {
    if (is_count(one[at]) && is_count(other[at]) && one[at] != other[at]) return false;
    const double count = is_count(one[at]) ? one[at] : other[at];
    if (!is_count(count)) return false;
    meetings[at].added = kTerms - static_cast<std::int64_t>(count);
  }
  return true;
}

// When each term is taken.
std::vector<std::int64_t> turns_of(const Structure& structure) {
  std::vector<std::int64_t> order(kTerms);
  units::fill_order(structure.order, structure.block, order);
  std::vector<std::int64_t> turns(order.size());
  for (std::size_t at = 0; at < order.size(); ++at) {
    turns[static_cast<std::size_t>(order[at])] = static_cast<std::int64_t>(at);
  }
  return turns;
}

// After how many terms two of them have met; `one` and `other` are their turns.
std::int64_t terms_until_met(const Structure& structure, std::int64_t one, std::int64_t other) {
  const std::int64_t block = structure.block;
  std::int64_t length = kTerms;
  if (structure.order == units::Order::kHalves) {
    constexpr std::int64_t kHalf = kTerms / 2;
    if ((one < kHalf) != (other < kHalf)) return kTerms;
    length = kHalf;
    one %= kHalf;
    other %= kHalf;
  }
  const std::int64_t later = std::max(one, other) / block;
  const bool in_one_block = one / block == other / block;
  // Of a wide block the terms beside the later mask are saved.
  if (structure.wide) return in_one_block ? 2 : later * block + 1;
  const std::int64_t end = std::min((later + 1) * block, length);
  return in_one_block && !structure.joined ? end - later * block : end;
}

bool explains(const Structure& structure, const std::vector<Meeting>& meetings) {
  const std::vector<std::int64_t> turns = turns_of(structure);
  return std::ranges::all_of(meetings, [&](const Meeting& meeting) {
    return terms_until_met(structure, turns[static_cast<std::size_t>(meeting.first)],
                           turns[static_cast<std::size_t>(meeting.second)]) == meeting.added;
  });
}

}  // namespace

std::vector<Structure> fitting_structures(const std::vector<Meeting>& meetings) {
  using enum units::Order;
  std::vector<Structure> fitting;
  for (const units::Order order : {kInOrder, kReversed, kStrided, kHalves}) {
    for (const bool wide : {false, true}) {
      for (const bool joined : {true, false}) {
        for (int block = 1; block <= units::kMostBlock; ++block) {
          if (block == 1 && (order == kStrided || wide)) continue;  // the same as without
          const Structure structure{block, joined, order, wide};
          if (explains(structure, meetings)) fitting.push_back(structure);
        }
      }
    }
  }
  return fitting;
}

std::vector<Structure> usual_structures() {
  using enum units::Order;
  std::vector<Structure> usual;
  for (const units::Order order : {kInOrder, kReversed, kStrided, kHalves}) {
    for (const bool joined : {true, false}) {
      for (int block = order == kStrided ? 2 : 1; block <= units::kMostBlock; block *= 2) {
        usual.push_back({block, joined, order});
      }
    }
  }
  return usual;
}

SumOrder find_order(const Multiply& multiply, Format format) {
  SumOrder found;
  for (const Masks& masks : masks_for(format)) {
    std::vector<Meeting> meetings = wanted_meetings();
    bool sensible = true;
    for (std::size_t start = 0; sensible && start < meetings.size(); start += kSide) {
      const std::size_t count = std::min(static_cast<std::size_t>(kSide), meetings.size() - start);
      sensible = observe(multiply, masks, std::span(meetings).subspan(start, count));
    }
    const auto swallowed = [](const Meeting& meeting) { return meeting.added > 2; };
    if (!sensible || std::ranges::none_of(meetings, swallowed)) continue;
    const std::vector<Structure> structures = fitting_structures(meetings);
    if (!structures.empty()) return {meetings, structures};
    if (found.meetings.empty()) found.meetings = std::move(meetings);
  }
  return found;
}

}  // namespace msprobe::identify
