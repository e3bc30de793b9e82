// A set of call names that finds the index of a call: four bytes a name, because an index of
// millions of calls must stay small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

namespace msprobe::dump {

// NameOf(index) -> std::string_view gives the name of a call already added.
template <class NameOf>
class NameTable {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  explicit NameTable(NameOf name_of) : name_of_(name_of), slots_(1024, kNone) {}

  std::uint32_t find(std::string_view name) const { return slots_[slot_of(name)]; }

  // REQUIRES: find(name_of(index)) == kNone.
  void add(std::uint32_t index) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    slots_[slot_of(name_of_(index))] = index;
    ++size_;
  }

 private:
  // Where the name stands, or the empty slot where it would.
  std::size_t slot_of(std::string_view name) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = std::hash<std::string_view>{}(name)&mask;
    while (slots_[slot] != kNone && name_of_(slots_[slot]) != name) slot = (slot + 1) & mask;
    return slot;
  }

  void grow() {
    const std::vector<std::uint32_t> old = std::move(slots_);
    slots_.assign(old.size() * 2, kNone);
    for (const std::uint32_t index : old) {
      if (index != kNone) slots_[slot_of(name_of_(index))] = index;
    }
  }

  NameOf name_of_;
  std::vector<std::uint32_t> slots_;  // a power of two, at most half full
  std::size_t size_ = 0;
};

}  // namespace msprobe::dump
