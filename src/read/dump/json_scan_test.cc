// SPDX-License-Identifier: Apache-2.0
#include "dump/json_scan.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace msprobe::dump {
namespace {

TEST(JsonScan, FindsTheEndOfContainers) {
  for (const auto& [text, end] : {std::pair<std::string, std::size_t>{"{}", 2},
                                  {"[] ]", 2},
                                  {"{\"a\": [1, {}], \"b\": 2} x", 22},
                                  {"{\"}\": \"]\\\"}\"}}", 13},
                                  {"[\"\\\\\"]]", 6},
                                  {"{", kNoEnd},
                                  {"[[]", kNoEnd},
                                  {"[\"]", kNoEnd},
                                  {"[\"\\\"]", kNoEnd}}) {
    EXPECT_EQ(container_end(text, 0), end) << text;
    EXPECT_EQ(container_end_reference(text, 0), end) << text;
  }
}

TEST(JsonScan, VectorsAgreeWithThePlainLoop) {
  std::mt19937 random(7);
  // Mostly space, so that strings and containers cross the blocks; then mostly structure.
  for (const std::string alphabet : {"              {}[]\"\"\\a", "{{[[}}]]\"\\", "\\\\\\\"[]"}) {
    for (int round = 0; round < 20000; ++round) {
      std::string text = round % 2 == 0 ? "{" : "[";
      const std::size_t size = random() % 300;
      while (text.size() < size) text += alphabet[random() % alphabet.size()];
      ASSERT_EQ(container_end(text, 0), container_end_reference(text, 0)) << text;
    }
  }
}

TEST(JsonScan, FindsTheEndOfStrings) {
  EXPECT_EQ(string_end("\"\"", 0), 2U);
  EXPECT_EQ(string_end("x\"a\\\"b\\\\\" ", 1), 9U);
  EXPECT_EQ(string_end("\"\\\\\\\"", 0), kNoEnd);
  EXPECT_EQ(string_end("\"\\", 0), kNoEnd);
  EXPECT_EQ(string_end("\"", 0), kNoEnd);
}

TEST(JsonScan, FindsSpaceAndScalars) {
  EXPECT_EQ(skip_space(" \t\r\n x", 0), 5U);
  EXPECT_EQ(skip_space("  ", 0), 2U);
  EXPECT_EQ(skip_space("", 0), 0U);
  EXPECT_EQ(scalar_end("-1.5e3,", 0), 6U);
  EXPECT_EQ(scalar_end("null", 0), 4U);
  EXPECT_EQ(scalar_end("}", 0), 0U);
}

TEST(JsonScan, FindsTheFirstBracketOfTheWrongKind) {
  const auto mismatch = find_mismatch("{\"a]\": [1, {}, 2}");
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->open_at, 7U);
  EXPECT_EQ(mismatch->close_at, 16U);
  EXPECT_FALSE(find_mismatch("{\"a\": [1, {}]"));
  EXPECT_FALSE(find_mismatch("]"));
  EXPECT_FALSE(find_mismatch(std::string(3 << 20, '[')));
}

}  // namespace
}  // namespace msprobe::dump
