// SPDX-License-Identifier: Apache-2.0
#include "dump/step_tree.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::dump {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StepTreeTest : public ::testing::Test {
 protected:
  void add_dump(const std::string& directory) const {
    fs::create_directories(root_ / directory);
    std::ofstream(root_ / directory / "dump.json") << "{}";
  }

  // "step.rank: directory of the dump", or the error.
  std::vector<std::string> found() const {
    const Result<StepTree> tree = find_dumps(root_);
    if (!tree) return {tree.error().message};
    std::vector<std::string> lines;
    for (const auto& [place, dump] : *tree) {
      lines.push_back(fmt::format("{}.{}: {}", place.step, place.rank,
                                  dump.dump.parent_path().lexically_relative(root_).string()));
    }
    return lines;
  }

  ScratchDirectory scratch_;
  const fs::path root_ = scratch_.path();
};

TEST_F(StepTreeTest, OrdersStepsAndRanksByNumber) {
  for (const char* place : {"step10/rank0", "step2/rank10", "step2/rank9", "other/rank0"}) {
    add_dump(place);
  }
  EXPECT_THAT(found(), ElementsAre("2.9: step2/rank9", "2.10: step2/rank10", "10.0: step10/rank0"));
}

TEST_F(StepTreeTest, TakesTheRanksOfOneStep) {
  for (const char* place : {"rank", "rank1", "ranks", "rank-1", "rank99999999999"}) add_dump(place);
  EXPECT_THAT(found(), ElementsAre("-1.0: rank", "-1.1: rank1"));
}

// It used to be left out in silence, and the others were "all".
TEST_F(StepTreeTest, ADumpThatCannotBeLookedAtIsAnError) {
  add_dump("step0/rank0");
  fs::create_directories(root_ / "step0/rank1");
  fs::create_symlink("dump.json", root_ / "step0/rank1/dump.json");
  EXPECT_THAT(found(), ElementsAre(HasSubstr("step0/rank1/dump.json: cannot access")));
}

TEST_F(StepTreeTest, TakesOneDumpOrOneProcessWithoutRank) {
  add_dump("step0/proc77");
  EXPECT_THAT(found(), ElementsAre("0.-1: step0/proc77"));
  add_dump("step0");
  EXPECT_THAT(found(), ElementsAre("0.-1: step0"));
}

TEST_F(StepTreeTest, TwoProcessesAreNoRank) {
  add_dump("proc1");
  add_dump("proc2");
  EXPECT_THAT(found(), ElementsAre(HasSubstr("found neither dump.json nor directories rank<N>")));
}

TEST_F(StepTreeTest, SavedValuesAreTakenWhereThereAreNoCalls) {
  fs::create_directories(root_ / "step0/rank0");
  std::ofstream(root_ / "step0/rank0/debug.json") << "{}";
  EXPECT_FALSE(find_dumps(root_));
  const auto tree = find_dumps(root_, true);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->begin()->second.dump.filename(), "debug.json");
  add_dump("step1/rank0");
  EXPECT_EQ(find_dumps(root_, true)->begin()->second.dump.filename(), "dump.json");
}

}  // namespace
}  // namespace msprobe::dump
