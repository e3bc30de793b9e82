// SPDX-License-Identifier: Apache-2.0
#include "core/memory_share.h"

#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace msprobe {
namespace {

TEST(MemoryShare, IsGivenBackWhenNobodyHoldsIt) {
  MemoryShare share(100);
  std::shared_ptr<std::byte[]> first = share.take(60);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(share.take(41), nullptr);
  const std::shared_ptr<const void> alias = first;
  first.reset();
  EXPECT_EQ(share.taken_bytes(), 60U);
  EXPECT_NE(share.take(40), nullptr);
}

TEST(MemoryShare, NothingOverflows) {
  MemoryShare share(100);
  const auto held = share.take(100);
  EXPECT_EQ(share.take(std::numeric_limits<std::uint64_t>::max()), nullptr);
  EXPECT_EQ(share.take(1), nullptr);
  EXPECT_NE(share.take(0), nullptr);
}

TEST(MemoryShare, ThreadsTogetherGetNoMore) {
  MemoryShare share(1000);
  std::atomic<bool> too_much = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 2000; ++j) {
        const auto held = share.take(400);
        if (share.taken_bytes() > 1000) too_much = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(too_much);
  EXPECT_EQ(share.taken_bytes(), 0U);
}

}  // namespace
}  // namespace msprobe
