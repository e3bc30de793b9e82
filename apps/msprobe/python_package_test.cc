// SPDX-License-Identifier: Apache-2.0
#include "python_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::app {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kOwn = "\"\"\"msprobe: checks what an accelerator computes.\n\"\"\"\n";

TEST(PythonPackage, ItIsSaidWhoseItIs) {
  const ScratchDirectory prefix;
  const auto program = prefix.path() / "bin/msprobe";
  EXPECT_EQ(describe_python_package(program), "");
  const auto packages = prefix.path() / "lib/python3.11/site-packages";
  std::filesystem::create_directories(packages / "msprobe");
  prefix.write("lib/python3.11/site-packages/msprobe/__init__.py", kOwn);
  EXPECT_THAT(describe_python_package(program), HasSubstr("site-packages/msprobe: msprobe "));
  EXPECT_THAT(describe_python_package(program), Not(HasSubstr("mindstudio")));
  prefix.write("lib/python3.11/site-packages/msprobe/__init__.py", "# another\n");
  std::filesystem::create_directories(packages / "mindstudio_probe-26.2.0.dist-info");
  EXPECT_THAT(describe_python_package(program), HasSubstr("mindstudio-probe 26.2.0 is installed"));
  EXPECT_THAT(describe_python_package(program), HasSubstr("of another tool"));
}

}  // namespace
}  // namespace msprobe::app
