// SPDX-License-Identifier: Apache-2.0
#include "core/open_beneath.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch_directory_for_test.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

using Open = int (*)(int, const std::string&);

// Both ways to open: by the kernel's own call, and component by component.
class OpenBeneath : public ::testing::TestWithParam<Open> {
 protected:
  void SetUp() override {
    put("secret");
    fs::create_directories(root_ / "data/deep/er");
    put("data/inside");
    put("data/deep/er/file");
    fd_ = ::open((root_ / "data").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  void TearDown() override { ::close(fd_); }

  // The text of the file, which is its name; else "errno" and its number.
  std::string read(const std::string& name) const {
    const int file = GetParam()(fd_, name);
    if (file < 0) return "errno " + std::to_string(errno);
    std::array<char, 64> text{};
    const ssize_t got = ::read(file, text.data(), text.size());
    ::close(file);
    return got < 0 ? "directory" : std::string(text.data(), static_cast<std::size_t>(got));
  }
  static std::string error(int number) { return "errno " + std::to_string(number); }

  void put(const std::string& name) const { std::ofstream(root_ / name) << name; }
  void link(const std::string& name, const std::string& target) const {
    fs::create_symlink(target, root_ / "data" / name);
  }

 private:
  ScratchDirectory scratch_;
  const fs::path root_ = scratch_.path();
  int fd_ = -1;
};

TEST_P(OpenBeneath, PlainNames) {
  EXPECT_EQ(read("inside"), "data/inside");
  EXPECT_EQ(read("deep/er/file"), "data/deep/er/file");
  EXPECT_EQ(read("./deep//er/./file"), "data/deep/er/file");
  EXPECT_EQ(read("deep/../inside"), "data/inside");
  EXPECT_EQ(read("absent"), error(ENOENT));
  EXPECT_EQ(read("inside/file"), error(ENOTDIR));
  EXPECT_EQ(read("deep/er"), "directory");
  EXPECT_EQ(read("."), "directory");
}

TEST_P(OpenBeneath, LinksInsideAreFollowed) {
  link("file_link", "inside");
  link("directory_link", "deep/er");
  link("to_link", "directory_link/file");
  link("deep/up_and_down", "../deep/er/file");
  link("deep/er/root", "../..");
  EXPECT_EQ(read("file_link"), "data/inside");
  EXPECT_EQ(read("directory_link/file"), "data/deep/er/file");
  EXPECT_EQ(read("to_link"), "data/deep/er/file");
  EXPECT_EQ(read("deep/up_and_down"), "data/deep/er/file");
  EXPECT_EQ(read("deep/er/root/inside"), "data/inside");
  EXPECT_EQ(read("directory_link"), "directory");
}

TEST_P(OpenBeneath, NothingLeadsOut) {
  link("up", "..");
  link("out", "../secret");
  link("absolute", "/etc/passwd");
  link("absolute_directory", "/etc");
  link("deep/er/far", "../../../secret");
  link("through", "up/data/inside");  // out, and in again
  for (const char* name : {"up", "up/secret", "out", "absolute", "absolute_directory/passwd",
                           "deep/er/far", "through", "../secret", "deep/../../secret"}) {
    EXPECT_EQ(read(name), error(EXDEV)) << name;
  }
}

TEST_P(OpenBeneath, LinksInCirclesEnd) {
  link("a", "b");
  link("b", "a");
  link("self", "self/self");
  link("dangling", "absent");
  EXPECT_EQ(read("a"), error(ELOOP));
  EXPECT_EQ(read("a/file"), error(ELOOP));
  EXPECT_EQ(read("self"), error(ELOOP));
  EXPECT_EQ(read("dangling"), error(ENOENT));
}

INSTANTIATE_TEST_SUITE_P(Kernel, OpenBeneath, ::testing::Values(&open_beneath));
INSTANTIATE_TEST_SUITE_P(ByComponents, OpenBeneath, ::testing::Values(&open_beneath_by_components));

}  // namespace
}  // namespace msprobe
