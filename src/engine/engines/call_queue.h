// SPDX-License-Identifier: Apache-2.0
// Chooses the call an engine gets next: a bounded window moves over the calls in dump order; inside
// it, those whose cost stands out go first, costliest first, where several engines share the work.
// The rest goes in dump order: the window moves on only behind the first call that is not done, so
// small calls that wait for all larger ones would hold it up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace msprobe::engines {

enum class CallOrder : std::uint8_t { kDump, kCostliestFirst };

class CallQueue {
 public:
  // Positions first..end-1. `cost` is asked once per position, when the window reaches it; empty:
  // no engine is needed for this one.
  CallQueue(std::size_t first, std::size_t end, std::size_t window, CallOrder order,
            std::function<std::optional<double>(std::size_t)> cost);

  struct Item {
    std::size_t position = 0;
    double cost = 0;
  };
  // The next call, if one waits inside the window.
  std::optional<Item> take();
  // A call whose engine was lost waits again, before all others.
  void give_back(Item item);
  // Positions below `safe` are on the disk: the window moves on.
  void advance(std::size_t safe);
  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    double rank = 0;  // higher goes first
    Item item;
    bool operator<(const Waiting& other) const {
      return rank != other.rank ? rank < other.rank : item.position > other.item.position;
    }
  };
  double rank_of(double cost);

  std::size_t next_;  // first position that never waited
  std::size_t end_;
  std::size_t window_;
  CallOrder order_;
  std::function<std::optional<double>(std::size_t)> cost_;
  std::priority_queue<Waiting> waiting_;
  double cost_so_far_ = 0;
  std::size_t costs_so_far_ = 0;
};

}  // namespace msprobe::engines
