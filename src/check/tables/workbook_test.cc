// SPDX-License-Identifier: Apache-2.0
// tests/workbook_check.py reads the sheets back.
#include "tables/workbook.h"

#include <filesystem>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::tables {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Workbook, HoldsTablesWhoseNamesAreLongOrAlike) {
  const ScratchDirectory scratch;
  const auto csv = scratch.write("a.csv", "API Name,Status\nTorch.add.0,pass\n");
  const std::vector<Sheet> sheets(12, {"details step1/rank0 of a very long place [of all]", csv});
  const auto path = scratch.path() / "tables.xlsx";
  ASSERT_TRUE(write_workbook(path, sheets));
  EXPECT_THAT(read_text(path), StartsWith("PK"));
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".partial"));
}

TEST(Workbook, NamesWhatCannotBeRead) {
  const ScratchDirectory scratch;
  const auto good = scratch.write("good.csv", "API Name\nTorch.add.0\n");
  const auto bad = scratch.write("bad.csv", "API Name\n\"never closed\n");
  const auto path = scratch.path() / "tables.xlsx";
  const std::vector<Sheet> sheets{{"good", good}, {"bad", bad}};
  const Result<void> written = write_workbook(path, sheets);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("bad.csv"));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".partial"));
}

}  // namespace
}  // namespace msprobe::tables
