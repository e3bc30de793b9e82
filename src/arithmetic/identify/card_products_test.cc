// SPDX-License-Identifier: Apache-2.0
#include "identify/card_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::identify {
namespace {

using card::Confidence;

card::Card card_with(const std::vector<std::pair<std::string, std::string>>& fields) {
  card::Card made;
  for (const auto& [field, value] : fields) {
    made.lines.push_back({"products", "float32", field, value,
                          value.empty() ? Confidence::kNone : Confidence::kHigh, ""});
  }
  return made;
}

TEST(KnownProducts, HasTheUnitOfTheCardFirst) {
  const auto known = known_products(card_with({{"unit", "block=4,bits=23"},
                                               {"block", "4"},
                                               {"overflow", "largest number"},
                                               {"subnormal results", "flushed to zero"}}));
  ASSERT_TRUE(known);
  ASSERT_EQ(known->size(), 1U);
  const units::KnownProducts& products = known->front();
  EXPECT_EQ(products.units, (std::vector<units::Unit>{{.block = 4, .bits = 23}}));
  EXPECT_TRUE(products.certain && products.saturates && products.flushes_results);
  EXPECT_FALSE(products.flushes_inputs);
}

TEST(KnownProducts, OpenFieldsGiveFurtherUnits) {
  const auto known = known_products(card_with({{"unit", "block=4,bits=23"},
                                               {"partial sums are cut", "zero or down"},
                                               {"fraction bits", "23 to 25"},
                                               {"running sum", ""}}));
  ASSERT_TRUE(known);
  const std::vector<units::Unit>& all = known->front().units;
  EXPECT_EQ(all.size(), 12U);
  EXPECT_EQ(all.front(), (units::Unit{.block = 4, .bits = 23}));
  EXPECT_THAT(all, testing::Contains(units::Unit{
                       .block = 4, .bits = 25, .sum = units::Cut::kDown, .joined = false}));
}

TEST(KnownProducts, AreNotOnEveryCard) {
  EXPECT_TRUE(known_products(card_with({{"unit", ""}}))->empty());
  EXPECT_FALSE(known_products(card_with({{"unit", ""}}), DType::kFloat32));
}

TEST(KnownProducts, TrustNothing) {
  EXPECT_FALSE(known_products(card_with({{"unit", "block=4000"}})));
  EXPECT_FALSE(known_products(card_with({{"unit", "block=4"}, {"order", "sideways"}})));
  EXPECT_FALSE(known_products(card_with({{"unit", "block=4"}, {"fraction bits", "at least x"}})));
  const auto many = known_products(
      card_with({{"unit", "block=4"}, {"fraction bits", "1 to 2000000000"}, {"order", ""}}));
  ASSERT_TRUE(many);
  EXPECT_LE(many->front().units.size(), 512U);
}

}  // namespace
}  // namespace msprobe::identify
