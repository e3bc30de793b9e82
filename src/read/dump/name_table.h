// SPDX-License-Identifier: Apache-2.0
// A set of call names that finds the index of a call: eight bytes a slot, because an index of
// millions of calls must stay small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

namespace msprobe::dump {

// NameOf(index) -> std::string_view gives the name of a call already added. Names are spread
// over a mapped file, so they are compared only if the hashes are equal.
template <class NameOf>
class NameTable {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  explicit NameTable(NameOf name_of) : name_of_(name_of), slots_(1024) {}

  std::uint32_t find(std::string_view name) const {
    const std::uint32_t hash = hash_of(name);
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].index != kNone) {
      if (slots_[at].hash == hash && name_of_(slots_[at].index) == name) return slots_[at].index;
      at = (at + 1) & (slots_.size() - 1);
    }
    return kNone;
  }

  // REQUIRES: find(name_of(index)) == kNone.
  void add(std::uint32_t index) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    put({hash_of(name_of_(index)), index});
    ++size_;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t index = kNone;
  };

  static std::uint32_t hash_of(std::string_view name) {
    const std::size_t hash = std::hash<std::string_view>{}(name);
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
  }

  void put(Slot slot) {
    std::size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].index != kNone) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  void grow() {
    const std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.size() * 2, Slot{});
    for (const Slot& slot : old) {
      if (slot.index != kNone) put(slot);
    }
  }

  NameOf name_of_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t size_ = 0;
};

}  // namespace msprobe::dump
