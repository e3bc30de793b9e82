// SPDX-License-Identifier: Apache-2.0
#include "core/look_up.h"

#include <gtest/gtest.h>

#include "core/new_file.h"
#include "scratch_directory_for_test.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

TEST(LookUp, ListsEverythingByName) {
  const ScratchDirectory scratch;
  for (const char* name : {"b", "a", "c"}) ASSERT_TRUE(write_new_file(scratch.path() / name, "x"));
  fs::create_directory_symlink("nowhere", scratch.path() / "d");
  const auto found = list_directory(scratch.path());
  ASSERT_TRUE(found);
  std::string names;
  for (const fs::directory_entry& entry : *found) names += entry.path().filename().string();
  EXPECT_EQ(names, "abcd");
}

TEST(LookUp, WhatCannotBeListedIsAnError) {
  const ScratchDirectory scratch;
  EXPECT_FALSE(list_directory(scratch.path() / "absent"));
  ASSERT_TRUE(write_new_file(scratch.path() / "file", "x"));
  EXPECT_FALSE(list_directory(scratch.path() / "file"));
}

TEST(LookUp, NothingIsThereOnlyIfNothingHasTheName) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_new_file(scratch.path() / "file", "x"));
  EXPECT_TRUE(is_there(scratch.path() / "file").value());
  EXPECT_FALSE(is_there(scratch.path() / "absent").value());
  EXPECT_FALSE(is_there(scratch.path() / "file" / "below").value());
  // A link that leads in a circle is not nothing, and nobody can say what it is.
  fs::create_symlink("circle", scratch.path() / "circle");
  EXPECT_FALSE(is_there(scratch.path() / "circle"));
}

}  // namespace
}  // namespace msprobe
