// SPDX-License-Identifier: Apache-2.0
#include "engines/call_queue.h"

#include <gtest/gtest.h>

namespace msprobe::engines {
namespace {

std::vector<std::size_t> drain(CallQueue& queue) {
  std::vector<std::size_t> taken;
  while (const auto item = queue.take()) taken.push_back(item->position);
  return taken;
}

std::optional<double> cost_of(std::size_t position) {
  if (position == 3) return std::nullopt;
  return position == 4 ? 1000 : position == 1 ? 50 : position == 5 ? 3 : 1;
}

using Positions = std::vector<std::size_t>;

TEST(CallQueue, CostlyOnesFirstInsideTheWindow) {
  CallQueue queue(0, 10, 5, CallOrder::kCostliestFirst, &cost_of);
  EXPECT_EQ(drain(queue), (Positions{4, 1, 0, 2}));
  queue.advance(2);
  EXPECT_EQ(drain(queue), (Positions{5, 6})) << "no call stands out";
  queue.advance(9);
  EXPECT_EQ(drain(queue), (Positions{7, 8, 9}));
  queue.advance(10);
  EXPECT_TRUE(queue.empty());
}

TEST(CallQueue, DumpOrderWithOneEngine) {
  CallQueue queue(1, 6, 3, CallOrder::kDump, &cost_of);
  EXPECT_EQ(drain(queue), (Positions{1, 2}));
  queue.advance(4);
  EXPECT_EQ(drain(queue), (Positions{4, 5}));
}

TEST(CallQueue, WhatComesBackGoesFirst) {
  CallQueue queue(0, 5, 5, CallOrder::kCostliestFirst, &cost_of);
  const auto costly = queue.take();
  const auto next = queue.take();
  queue.give_back(*next);
  queue.give_back(*costly);
  EXPECT_EQ(drain(queue), (Positions{1, 4, 0, 2}));
}

}  // namespace
}  // namespace msprobe::engines
