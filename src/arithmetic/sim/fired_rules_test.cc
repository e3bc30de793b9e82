// SPDX-License-Identifier: Apache-2.0
#include "sim/fired_rules.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::sim {
namespace {

TEST(FiredRules, NamesThoseThatNeverFired) {
  const auto config = std::filesystem::path(testing::TempDir()) / "fired_rules.yaml";
  std::ofstream(config) << "faults:\n"
                           "  - {fault: zeros, apis: [conv2d]}\n"
                           "  - {fault: one_nan, apis: [conv3d, linear], rate: 0.5}\n"
                           "  - {fault: crash}\n";
  const FiredRules rules = FiredRules::watch(config.string());
  std::ofstream(rules.log(), std::ios::app) << "fault\tFunctional.conv2d.0\tforward\tzeros\t1\n"
                                               "result\tTorch.mm.0\tforward\t0\t3\n"
                                               "fault\tTorch.mm.0\tforward\tcrash\t3\n";
  EXPECT_THAT(rules.silent(),
              testing::ElementsAre("fault 2 of fired_rules.yaml (one_nan, apis conv3d linear, "
                                   "rate 0.5) never fired"));
}

TEST(FiredRules, WatchesNothingWithoutRules) {
  const FiredRules rules = FiredRules::watch("");
  EXPECT_EQ(rules.log(), "");
  EXPECT_THAT(rules.silent(), testing::IsEmpty());
}

}  // namespace
}  // namespace msprobe::sim
