// SPDX-License-Identifier: Apache-2.0
// A directory for the files of one test.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace msprobe::collect {

class Scratch : public testing::Test {
 protected:
  Scratch() { std::filesystem::create_directories(path_); }
  ~Scratch() override { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  static std::string text(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                ("collect_test_" + std::to_string(::getpid()) + "_" +
                                 testing::UnitTest::GetInstance()->current_test_info()->name());
};

}  // namespace msprobe::collect
