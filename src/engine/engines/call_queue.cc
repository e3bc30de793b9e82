// SPDX-License-Identifier: Apache-2.0
#include "engines/call_queue.h"

#include <algorithm>
#include <limits>

namespace msprobe::engines {
namespace {

constexpr double kStandsOut = 8;  // times the average of the calls before it

}  // namespace

CallQueue::CallQueue(std::size_t first, std::size_t end, std::size_t window, CallOrder order,
                     std::function<std::optional<double>(std::size_t)> cost)
    : next_(first), end_(end), window_(window), order_(order), cost_(std::move(cost)) {
  advance(first);
}

std::optional<CallQueue::Item> CallQueue::take() {
  if (waiting_.empty()) return std::nullopt;
  const Item item = waiting_.top().item;
  waiting_.pop();
  return item;
}

void CallQueue::give_back(Item item) {
  waiting_.push({std::numeric_limits<double>::infinity(), item});
}

void CallQueue::advance(std::size_t safe) {
  const std::size_t limit = std::min(end_, safe + window_);
  for (; next_ < limit; ++next_) {
    const std::optional<double> cost = cost_(next_);
    if (!cost) continue;
    waiting_.push({rank_of(*cost), {next_, *cost}});
  }
}

double CallQueue::rank_of(double cost) {
  const double average =
      costs_so_far_ == 0 ? cost : cost_so_far_ / static_cast<double>(costs_so_far_);
  cost_so_far_ += cost;
  ++costs_so_far_;
  const bool stands_out = order_ == CallOrder::kCostliestFirst && cost > kStandsOut * average;
  return stands_out ? cost : 0;
}

}  // namespace msprobe::engines
