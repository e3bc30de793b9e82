// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/details_name.h"

#include <gtest/gtest.h>

namespace msprobe::final_verdict {
namespace {

TEST(ParseDetailsName, TakesSixAndSevenSegments) {
  const auto six = parse_details_name("Functional.conv2d.12.forward.output.0");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->call, "Functional.conv2d.12");
  EXPECT_EQ(six->api, "conv2d");
  EXPECT_TRUE(six->forward);
  const auto seven = parse_details_name("Torch.linalg.norm.0.backward.output.1");
  ASSERT_TRUE(seven);
  EXPECT_EQ(seven->call, "Torch.linalg.norm.0");
  EXPECT_EQ(seven->api, "linalg.norm");
  EXPECT_FALSE(seven->forward);
}

TEST(ParseDetailsName, RefusesTheRest) {
  for (const char* const name :
       {"", "Badname.0", "a.b.0.forward.output", "a.b.c.d.0.forward.output.0",
        "a.b.0.sideways.output.0", "......", "....."}) {
    EXPECT_FALSE(parse_details_name(name)) << name;
  }
}

}  // namespace
}  // namespace msprobe::final_verdict
