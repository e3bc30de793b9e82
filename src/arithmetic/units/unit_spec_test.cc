// SPDX-License-Identifier: Apache-2.0
#include "units/unit_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::units {
namespace {

TEST(UnitSpec, EveryFieldSurvivesTheText) {
  const Unit unit{.block = 16,
                  .bits = 13,
                  .cut = Cut::kDown,
                  .sum = Cut::kNearest,
                  .joined = false,
                  .normalized = true,
                  .inputs = Inputs::kHf32,
                  .order = Order::kHalves,
                  .accumulator = Accumulator::kFloat16,
                  .promote = 128};
  const auto read = parse_unit(spec(unit));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, unit);
}

TEST(UnitSpec, KeysThatAreLeftOutKeepTheirDefault) {
  const auto read = parse_unit("block=4");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, Unit{.block = 4});
}

TEST(UnitSpec, SaysWhatIsWrong) {
  for (const auto& [text, part] : {std::pair{"block=0", "from 1 to 64"},
                                   {"bits=41", "from 1 to 40"},
                                   {"bits=2x", "bits=2x"},
                                   {"cut=up", "unknown cut 'up' (known: zero, down, nearest)"},
                                   {"width=3", "unknown key 'width'"},
                                   {"block", "key=value"}}) {
    const auto read = parse_unit(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace msprobe::units
