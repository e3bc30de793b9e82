// SPDX-License-Identifier: Apache-2.0
#include "core/file_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "scratch_directory_for_test.h"

namespace msprobe {
namespace {

using ::testing::HasSubstr;

TEST(FileStart, IsSoManyBytesOrAllThereAre) {
  const ScratchDirectory scratch;
  scratch.write("a", "0123456789");
  EXPECT_EQ(load_start(scratch.path() / "a", 4).value(), "0123");
  EXPECT_EQ(load_start(scratch.path() / "a", 100).value(), "0123456789");
}

TEST(FileStart, OfOtherThingsThanFilesIsAnErrorWithAReason) {
  const ScratchDirectory scratch;
  ASSERT_EQ(::mkfifo((scratch.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(load_start(scratch.path() / "pipe", 4).error().message, HasSubstr("regular file"));
  EXPECT_THAT(load_start(scratch.path(), 4).error().message, HasSubstr("regular file"));
  EXPECT_THAT(load_start(scratch.path() / "gone", 4).error().message, HasSubstr("cannot open"));
}

}  // namespace
}  // namespace msprobe
