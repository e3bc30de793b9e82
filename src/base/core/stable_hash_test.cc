// SPDX-License-Identifier: Apache-2.0
#include "core/stable_hash.h"

#include <set>

#include <gtest/gtest.h>

namespace msprobe {
namespace {

TEST(StableHash, IsTheSameInEveryBuild) {
  EXPECT_EQ(text(StableHash().add("Functional.conv2d.0").value()),
            "8e4deb8777b560545894c4f17d660177");
  EXPECT_EQ(text(StableHash().value()).size(), 32U);
}

TEST(StableHash, PiecesAreToldApart) {
  EXPECT_NE(StableHash().add("ab").add("c").value(), StableHash().add("a").add("bc").value());
  EXPECT_NE(StableHash().add("").value(), StableHash().value());
  EXPECT_NE(StableHash().add(std::string_view("\0", 1)).value(), StableHash().add("").value());
  EXPECT_EQ(StableHash().add("abc").value(), StableHash().add("abc").value());
}

TEST(StableHash, EveryByteCounts) {
  const std::string text(65, 'x');
  std::set<Hash128> seen{StableHash().add(text).value()};
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_TRUE(seen.insert(StableHash().add(other).value()).second);
    }
  }
}

}  // namespace
}  // namespace msprobe
