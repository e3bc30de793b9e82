// SPDX-License-Identifier: Apache-2.0
// Numbers by the identity of a tensor (RunTensor::identity).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace msprobe::divergence {

// A flat table: one look into memory for most questions, where a run has a million tensors.
class TensorTable {
 public:
  // Null: not known.
  const std::uint32_t* find(std::uint64_t identity) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place_of(key_of(identity))];
    return slot.key == kFree ? nullptr : &slot.number;
  }

  void set(std::uint64_t identity, std::uint32_t number) { slot_of(identity).number = number; }

  // Keeps what is known already.
  void add(std::uint64_t identity, std::uint32_t number) {
    const std::size_t before = used_;
    Slot& slot = slot_of(identity);
    if (used_ > before) slot.number = number;
  }

 private:
  static constexpr std::uint64_t kFree = 0;
  struct Slot {
    std::uint64_t key = kFree;
    std::uint32_t number = 0;
  };

  static std::uint64_t key_of(std::uint64_t identity) { return identity == kFree ? 1 : identity; }

  // Where the key is, or would be. Identities are hashes: their bits are mixed well.
  std::size_t place_of(std::uint64_t key) const {
    std::size_t place = key & (slots_.size() - 1);
    while (slots_[place].key != key && slots_[place].key != kFree) {
      place = (place + 1) & (slots_.size() - 1);
    }
    return place;
  }

  Slot& slot_of(std::uint64_t identity) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(key_of(identity))];
    if (slot.key == kFree) {
      slot.key = key_of(identity);
      ++used_;
    }
    return slot;
  }

  void grow() {
    constexpr std::size_t kFirst = 1024;
    std::vector<Slot> before(slots_.empty() ? kFirst : 4 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.key != kFree) slots_[place_of(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, at most half used
  std::size_t used_ = 0;
};

}  // namespace msprobe::divergence
