// SPDX-License-Identifier: Apache-2.0
#include "journal/run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scratch_directory.h"

namespace msprobe::journal {
namespace {

using ::testing::HasSubstr;

const RunFacts kFacts = {
    {"dump", "8e4d"}, {"seed", "1234"}, {"only", ""}, {"as_given_dump", "./a\nb\\c.json"}};

std::string refusal(const std::filesystem::path& path, const RunFacts& facts) {
  const auto file = RunFile::open(path, facts);
  return file ? "no error" : file.error().message;
}

TEST(RunFile, SameFactsContinue) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "run.txt";
  ASSERT_TRUE(RunFile::create(path, kFacts));
  const auto file = RunFile::open(path, kFacts);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->fact("as_given_dump"), "./a\nb\\c.json");
  EXPECT_FALSE(file->finished());
}

TEST(RunFile, OtherDumpOrOptionsAreRefused) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "run.txt";
  ASSERT_TRUE(RunFile::create(path, kFacts));
  EXPECT_THAT(refusal(path, {{"dump", "ffff"}}), HasSubstr("belong to another dump"));
  EXPECT_THAT(refusal(path, {{"seed", "7"}}), HasSubstr("made with seed '1234', not '7'"));
  EXPECT_EQ(refusal(path, {{"as_given_dump", "elsewhere"}}), "no error");
  EXPECT_THAT(refusal(scratch.path() / "none.txt", kFacts), HasSubstr("none.txt is missing"));
}

TEST(RunFile, TwoRunsOnOneOutputAreRefused) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "run.txt";
  {
    const auto first = RunFile::create(path, kFacts);
    ASSERT_TRUE(first);
    EXPECT_THAT(refusal(path, kFacts), HasSubstr("is in use"));
    EXPECT_FALSE(RunFile::create(path, kFacts));
  }
  EXPECT_EQ(refusal(path, kFacts), "no error");
}

TEST(RunFile, RemembersTheEnd) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "run.txt";
  {
    auto file = RunFile::create(path, kFacts);
    ASSERT_TRUE(file->mark_finished({10, 20}));
    ASSERT_TRUE(file->mark_finished({10, 20}));
  }
  const std::string text = read_text(path);
  {
    auto file = RunFile::open(path, kFacts);
    EXPECT_EQ(file->finished(), (FinishedSizes{10, 20}));
    ASSERT_TRUE(file->mark_finished({30, 40}));
  }
  EXPECT_EQ(RunFile::open(path, kFacts)->finished(), (FinishedSizes{30, 40}));
  // A line cut off by a kill does not count, and does not spoil the next one.
  scratch.write("run.txt", text.substr(0, text.size() - 1));
  {
    auto file = RunFile::open(path, kFacts);
    ASSERT_TRUE(file);
    EXPECT_FALSE(file->finished());
    ASSERT_TRUE(file->mark_finished({5, 6}));
  }
  EXPECT_EQ(RunFile::open(path, kFacts)->finished(), (FinishedSizes{5, 6}));
}

}  // namespace
}  // namespace msprobe::journal
