// SPDX-License-Identifier: Apache-2.0
// Fixture of this folder's tests: a scratch directory, files in and tables out.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/file.h"
#include "final_verdict/api_precision_compare.h"
#include "tables/csv_reader.h"

namespace msprobe::final_verdict {

using Table = std::vector<std::vector<std::string>>;

inline Table read_table(const std::filesystem::path& path) {
  const Result<FileBytes> bytes = load_file(path);
  EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message);
  Table table;
  if (!bytes) return table;
  tables::CsvReader reader(bytes->text(), path.string());
  while (true) {
    const Result<bool> more = reader.next();
    EXPECT_TRUE(more) << (more ? "" : more.error().message);
    if (!more || !*more) return table;
    table.emplace_back(reader.cells().begin(), reader.cells().end());
  }
}

class InDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 (std::string(test->test_suite_name()) + "_" + test->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return directory_ / name;
  }

  PrecisionOptions options_for(const std::filesystem::path& npu,
                               const std::filesystem::path& gpu) const {
    PrecisionOptions options;
    options.npu_csv = npu;
    options.gpu_csv = gpu;
    options.out_dir = directory_;
    options.timestamp = "20260101000000";
    return options;
  }

  std::filesystem::path directory_;
};

}  // namespace msprobe::final_verdict
