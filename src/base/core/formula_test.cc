// SPDX-License-Identifier: Apache-2.0
#include "core/formula.h"

#include <gtest/gtest.h>

namespace msprobe {
namespace {

TEST(UnsafeName, FollowsThePublicToolsPattern) {
  EXPECT_TRUE(unsafe_name("=cmd"));
  EXPECT_TRUE(unsafe_name("a;+b"));
  EXPECT_TRUE(unsafe_name("＝x"));
  EXPECT_TRUE(unsafe_name("a;b;％"));
  EXPECT_FALSE(unsafe_name("Tensor.__add__.0"));
  EXPECT_FALSE(unsafe_name("a-b;c"));
  EXPECT_FALSE(unsafe_name(""));
}

}  // namespace
}  // namespace msprobe
