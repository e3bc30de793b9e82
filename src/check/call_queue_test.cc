#include "check/call_queue.h"

#include <gtest/gtest.h>

#include "check/cost.h"

namespace msprobe::check {
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
  CallQueue queue(0, 10, 5, Order::kCostliestFirst, &cost_of);
  EXPECT_EQ(drain(queue), (Positions{4, 1, 0, 2}));
  queue.advance(2);
  EXPECT_EQ(drain(queue), (Positions{5, 6})) << "no call stands out";
  queue.advance(9);
  EXPECT_EQ(drain(queue), (Positions{7, 8, 9}));
  queue.advance(10);
  EXPECT_TRUE(queue.empty());
}

TEST(CallQueue, DumpOrderWithOneEngine) {
  CallQueue queue(1, 6, 3, Order::kDump, &cost_of);
  EXPECT_EQ(drain(queue), (Positions{1, 2}));
  queue.advance(4);
  EXPECT_EQ(drain(queue), (Positions{4, 5}));
}

TEST(CallQueue, WhatComesBackGoesFirst) {
  CallQueue queue(0, 5, 5, Order::kCostliestFirst, &cost_of);
  const auto costly = queue.take();
  const auto next = queue.take();
  queue.give_back(*next);
  queue.give_back(*costly);
  EXPECT_EQ(drain(queue), (Positions{1, 4, 0, 2}));
}

TEST(Cost, FollowsShapesAndOperator) {
  const auto cost = [](std::string_view name, std::string_view forward,
                       std::string_view back = "") {
    dump::CallSlice call;
    call.full_name = name;
    call.forward_json = forward;
    call.backward_json = back;
    return estimate_cost(call);
  };
  const std::string small = R"({"input_args": [{"shape": [2, 3]}]})";
  const std::string large = R"({"input_args": [{"shape":[1000,1000]}, {"shape": [1000, 1000]}]})";
  EXPECT_LT(cost("Torch.add.0", small), cost("Torch.add.0", large));
  EXPECT_LT(cost("Torch.add.0", large), cost("Torch.add.0", large, large));
  EXPECT_GT(cost("Torch.matmul.0", large), 100 * cost("Torch.add.0", large));
  EXPECT_LT(cost("Torch.add.0", R"({"shape": [99999999999, 99999999999, 99999999999]})"), 1e16);
  EXPECT_GT(cost("Torch.add.0", R"({"shape": [-5, "x"], "shape": )"), 0);
}

}  // namespace
}  // namespace msprobe::check
