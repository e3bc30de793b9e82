// SPDX-License-Identifier: Apache-2.0
#include "core/new_file.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "scratch_directory_for_test.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

fs::perms mode_of(const fs::path& path) { return fs::status(path).permissions(); }

class WithUmask {
 public:
  explicit WithUmask(mode_t mask) : before_(::umask(mask)) {}
  WithUmask(const WithUmask&) = delete;
  WithUmask& operator=(const WithUmask&) = delete;
  ~WithUmask() { ::umask(before_); }

 private:
  mode_t before_;
};

TEST(NewFile, AppearsWhenItIsComplete) {
  const ScratchDirectory scratch;
  const fs::path path = scratch.write("a.csv", "before");
  {
    const Result<NewFile> dropped = NewFile::create(path);
    ASSERT_TRUE(dropped);
    ASSERT_TRUE(dropped->write("half of "));
    EXPECT_EQ(read_text(path), "before");
  }
  EXPECT_FALSE(fs::exists(path.string() + ".partial"));
  EXPECT_EQ(read_text(path), "before");
  ASSERT_TRUE(write_new_file(path, "after"));
  EXPECT_EQ(read_text(path), "after");
  EXPECT_FALSE(fs::exists(path.string() + ".partial"));
}

TEST(NewFile, HasItsModeWhateverTheUmask) {
  const ScratchDirectory scratch;
  for (const mode_t mask : {0U, 022U, 077U}) {
    const WithUmask umask(mask);
    const fs::path directory = scratch.path() / std::to_string(mask) / "b";
    ASSERT_TRUE(make_directories(directory / ""));
    EXPECT_EQ(mode_of(directory), fs::perms(0750));
    EXPECT_EQ(mode_of(directory.parent_path()), fs::perms(0750));
    ASSERT_TRUE(write_new_file(directory / "new", "x"));
    EXPECT_EQ(mode_of(directory / "new"), fs::perms(0640));
    ASSERT_TRUE(create_in_place(directory / "grows"));
    EXPECT_EQ(mode_of(directory / "grows"), fs::perms(0640));
    ASSERT_TRUE(write_durable_file(directory / "durable", "x"));
    EXPECT_EQ(mode_of(directory / "durable"), fs::perms(0640));
  }
}

TEST(NewFile, WritesThroughNoLink) {
  const ScratchDirectory scratch;
  const fs::path other = scratch.write("other", "of somebody else");
  const fs::path path = scratch.path() / "a.csv";
  fs::create_symlink(other, path.string() + ".partial");
  ASSERT_TRUE(write_new_file(path, "ours"));
  EXPECT_EQ(read_text(path), "ours");
  EXPECT_FALSE(fs::is_symlink(path));

  const fs::path link = scratch.path() / "link";
  fs::create_symlink(other, link);
  EXPECT_FALSE(create_in_place(link));
  EXPECT_EQ(errno, EEXIST);
  EXPECT_FALSE(reopen_in_place(link, Reading::kNo, Writing::kAppends));
  EXPECT_EQ(errno, ELOOP);
  ASSERT_TRUE(replace_in_place(link));
  EXPECT_FALSE(fs::is_symlink(link));
  fs::create_symlink(other, scratch.path() / "b");
  ASSERT_TRUE(write_new_file(scratch.path() / "b", "ours"));
  EXPECT_EQ(read_text(other), "of somebody else");
}

TEST(NewFile, WhatIsUnfinishedCanBeRemovedAtOnce) {
  const ScratchDirectory scratch;
  Result<NewFile> first = NewFile::create(scratch.path() / "a");
  const Result<NewFile> second = NewFile::create(scratch.path() / "b");
  ASSERT_TRUE(first && second && first->commit());
  remove_unfinished_files();
  EXPECT_TRUE(fs::exists(scratch.path() / "a"));
  EXPECT_FALSE(fs::exists(scratch.path() / "b.partial"));
}

TEST(NewFile, OfTwoWritersTheFirstFails) {
  const ScratchDirectory scratch;
  const fs::path path = scratch.path() / "a.csv";
  Result<NewFile> first = NewFile::create(path);
  ASSERT_TRUE(first && first->write("first"));
  Result<NewFile> second = NewFile::create(path);
  ASSERT_TRUE(second && second->write("second"));
  const Result<void> refused = first->commit();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("does another program write"));
  ASSERT_TRUE(second->commit());
  EXPECT_EQ(read_text(path), "second");
}

TEST(NewFile, OnlyOneGetsAFreeName) {
  const ScratchDirectory scratch;
  const fs::path path = scratch.path() / "a.csv";
  auto first = NewFile::create_if_free(path);
  ASSERT_TRUE(first && *first);
  const auto second = NewFile::create_if_free(path);
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second);
  ASSERT_TRUE((*first)->commit());
  const auto third = NewFile::create_if_free(path);
  ASSERT_TRUE(third);
  EXPECT_FALSE(*third);
  EXPECT_FALSE(fs::exists(path.string() + ".partial"));
  EXPECT_FALSE(NewFile::create_if_free(scratch.path() / "none" / "a.csv"));
}

TEST(NewFile, DirectoriesThatCannotBeMadeAreNamed) {
  const ScratchDirectory scratch;
  scratch.write("file", "");
  const Result<void> made = make_directories(scratch.path() / "file" / "below");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("file: cannot create the directory"));
  ASSERT_TRUE(make_directories(scratch.path()));
}

}  // namespace
}  // namespace msprobe
