// SPDX-License-Identifier: Apache-2.0
#include "tables/output_file.h"

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/file.h"

namespace msprobe::tables {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(::testing::TempDir()) /
                 (std::string("output_file_") +
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }
  fs::path directory_;
};

TEST_F(OutputFileTest, AppearsOnlyWhenCommitted) {
  const fs::path path = directory_ / "out.csv";
  Result<OutputFile> file = OutputFile::create(path);
  ASSERT_TRUE(file);
  file->buffer() += "text";
  ASSERT_TRUE(file->flush_if_full());
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(load_file(path)->text(), "text");
  EXPECT_FALSE(fs::exists(directory_ / "out.csv.partial"));
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
  {
    Result<OutputFile> file = OutputFile::create(directory_ / "out.csv");
    ASSERT_TRUE(file);
    file->buffer() += "text";
  }
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(OutputFileTest, NamesWhatCannotBeWritten) {
  const Result<OutputFile> file = OutputFile::create(directory_ / "missing" / "out.csv");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message,
              ::testing::HasSubstr("out.csv: cannot be written: there is no directory"));
}

TEST_F(OutputFileTest, SaysWhenNothingMoreCanBeWritten) {
  Result<OutputFile> file = OutputFile::create(directory_ / "out.csv");
  ASSERT_TRUE(file);
  file->buffer() += "text";
  // A limit on file sizes stands for a full disk.
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  rlimit none = old_limit;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const Result<void> committed = file->commit();
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_action);
  ASSERT_FALSE(committed);
  EXPECT_THAT(committed.error().message, ::testing::HasSubstr("out.csv.partial: cannot write: "));
  EXPECT_FALSE(fs::exists(directory_ / "out.csv"));
}

}  // namespace
}  // namespace msprobe::tables
