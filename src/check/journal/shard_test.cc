// SPDX-License-Identifier: Apache-2.0
#include "journal/shard.h"

#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::journal {
namespace {

using ::testing::HasSubstr;

TEST(ParseShard, TakesKOfN) {
  EXPECT_EQ(parse_shard("1/1").value(), (Shard{1, 1}));
  EXPECT_EQ(parse_shard("3/5").value(), (Shard{3, 5}));
  EXPECT_EQ(text(Shard{3, 5}), "3/5");
}

TEST(ParseShard, RefusesTheRest) {
  for (const char* wrong : {"", "3", "/", "0/5", "6/5", "1/0", "-1/5", "1/5x", "1/5/2", "a/b",
                            "1/99999999999999999999"}) {
    const auto shard = parse_shard(wrong);
    ASSERT_FALSE(shard) << wrong;
    EXPECT_THAT(shard.error().message, HasSubstr("expected K/N"));
  }
}

std::vector<double> random_costs(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> cost(0, 2);
  std::vector<double> costs(count);
  for (double& each : costs) each = random() % 10 == 0 ? 0 : cost(random);
  return costs;
}

TEST(PositionsOf, ShardsFollowEachOtherAndLeaveNothingOut) {
  for (const std::size_t calls : {0U, 1U, 3U, 100U, 5000U}) {
    const std::vector<double> costs = random_costs(calls, static_cast<unsigned>(calls));
    for (const std::size_t count : {1U, 2U, 5U, 64U}) {
      std::size_t next = 0;
      for (std::size_t number = 1; number <= count; ++number) {
        const Positions positions = positions_of({number, count}, costs);
        if (positions.first == positions.end) continue;  // more shards than calls
        EXPECT_EQ(positions.first, next) << number << " of " << count << " over " << calls;
        next = positions.end;
      }
      EXPECT_EQ(next, calls);
    }
  }
}

TEST(PositionsOf, NoShardCostsMoreThanItsShareAndOneCall) {
  const std::vector<double> costs = random_costs(20'000, 1);
  double total = 0;
  double largest = 0;
  for (const double cost : costs) {
    total += cost;
    largest = std::max(largest, cost);
  }
  for (std::size_t number = 1; number <= 8; ++number) {
    const Positions positions = positions_of({number, 8}, costs);
    double share = 0;
    for (std::size_t i = positions.first; i < positions.end; ++i) share += costs[i];
    EXPECT_LE(share, total / 8 + largest * 1.001);
  }
}

TEST(PositionsOf, CallsThatCostNothingGoToTheFirst) {
  const std::vector<double> costs(10, 0.0);
  EXPECT_EQ(positions_of({1, 2}, costs), (Positions{0, 10}));
  EXPECT_EQ(positions_of({2, 2}, costs), (Positions{10, 10}));
}

}  // namespace
}  // namespace msprobe::journal
