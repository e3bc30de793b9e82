// SPDX-License-Identifier: Apache-2.0
#include "sim/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::sim {
namespace {

TEST(Rules, SayWhatIsHit) {
  const auto rules = parse_rules(
      "seed: 7\n"
      "faults:\n"
      "  - fault: wrong_tile\n"
      "    operators: [mm]\n"
      "    apis: [linear]\n"
      "    dtypes: [float32]\n"
      "    shape: [2, 3]\n"
      "    direction: backward\n",
      "sim.yaml");
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_EQ(rules->rules.size(), 1U);
  const FaultRule& rule = rules->rules[0];
  EXPECT_EQ(rule.fault, Fault::kWrongTile);
  EXPECT_TRUE(strikes(rule, rules->seed, {"Functional.linear.3", "mm", true, 0}));
  EXPECT_FALSE(strikes(rule, rules->seed, {"Functional.linear.3", "mm", false, 0}));
  EXPECT_FALSE(strikes(rule, rules->seed, {"Functional.linear.3", "bmm", true, 0}));
  EXPECT_FALSE(strikes(rule, rules->seed, {"Functional.linear.3", "", true, 0}));
  EXPECT_FALSE(strikes(rule, rules->seed, {"Torch.matmul.3", "mm", true, 0}));
  EXPECT_TRUE(fits(rule, "float32", {2, 3}));
  EXPECT_FALSE(fits(rule, "float16", {2, 3}));
  EXPECT_FALSE(fits(rule, "float32", {3, 2}));
}

TEST(Rules, FaultsOfProductsHitProducts) {
  for (const std::string fault : {"lost_block", "lost_terms", "coarse_sums"}) {
    const auto rules = parse_rules("faults:\n  - fault: " + fault + "\n", "sim.yaml");
    ASSERT_TRUE(rules) << rules.error().message;
    EXPECT_TRUE(strikes(rules->rules[0], 0, {"Torch.matmul.0", "mm", false, 0})) << fault;
    EXPECT_FALSE(strikes(rules->rules[0], 0, {"Torch.matmul.0", "add", false, 0})) << fault;
    EXPECT_FALSE(strikes(rules->rules[0], 0, {"Torch.matmul.0", "", false, 0})) << fault;
  }
}

TEST(Rules, FaultsOfCodesHitProductsOfCodes) {
  for (const std::string fault : {"other_block_scale", "few_bits", "lost_block"}) {
    const auto rules = parse_rules("faults:\n  - fault: " + fault + "\n", "sim.yaml");
    ASSERT_TRUE(rules) << rules.error().message;
    EXPECT_TRUE(strikes(rules->rules[0], 0, {"Aten._scaled_mm.0", "_scaled_mm_v2", false, 0}));
    EXPECT_FALSE(strikes(rules->rules[0], 0, {"Aten._scaled_mm.0", "", false, 0})) << fault;
  }
}

TEST(Rules, RatesAreKeptAndStrikeTheSamePlacesAgain) {
  FaultRule rule;
  rule.rate = 0.25;
  int hits = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string call = "Torch.add." + std::to_string(i);
    hits += strikes(rule, 1, {call, "", false, 0}) ? 1 : 0;
    EXPECT_EQ(strikes(rule, 1, {call, "", false, 0}), strikes(rule, 1, {call, "", false, 0}));
  }
  EXPECT_NEAR(hits, 250, 60);
}

TEST(Rules, WhatIsWrongIsNamed) {
  const auto message = [](const char* yaml) {
    return parse_rules(yaml, "sim.yaml").error().message;
  };
  EXPECT_THAT(message("faults:\n  - fault: hiccup\n"),
              testing::HasSubstr("sim.yaml: line 2: unknown fault 'hiccup'"));
  EXPECT_THAT(message("fault: zeros\n"), testing::HasSubstr("unknown key 'fault'"));
  EXPECT_THAT(message("faults:\n  - fault: zeros\n    rate: 2\n"), testing::HasSubstr("rate 2"));
  EXPECT_THAT(message("faults:\n  - fault: zeros\n    direction: up\n"),
              testing::HasSubstr("'up'"));
  EXPECT_THAT(message("faults:\n  - {fault: [\n"), testing::HasSubstr("sim.yaml"));
}

TEST(Profiles, CanFlushAndSaturateBesideTheirArithmetic) {
  EXPECT_EQ(parse_profile("")->profile, SimProfile::kExact);
  EXPECT_TRUE(parse_profile("ftz")->flushes);
  EXPECT_FALSE(parse_profile("ftz")->saturates);
  const auto both = parse_profile("unit:block=4,bits=25+saturate+ftz");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->unit.block, 4);
  EXPECT_TRUE(both->flushes && both->saturates);
  EXPECT_TRUE(parse_profile("tf32+ftz")->flushes);
  for (const char* wrong : {"nothing", "ftz+", "ftz+exact", "unit:block=0", "unit:block=1+x"}) {
    EXPECT_FALSE(parse_profile(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace msprobe::sim
