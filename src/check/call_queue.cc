#include "check/call_queue.h"

#include <algorithm>
#include <limits>

namespace msprobe::check {

CallQueue::CallQueue(std::size_t first, std::size_t end, std::size_t window, Order order,
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
    const double rank = order_ == Order::kCostliestFirst ? *cost : 0;
    waiting_.push({rank, {next_, *cost}});
  }
}

}  // namespace msprobe::check
