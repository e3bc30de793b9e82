// SPDX-License-Identifier: Apache-2.0
#include "core/python_environment.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

namespace msprobe {
namespace {

// Sets a variable while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { old_.empty() ? ::unsetenv(name_) : ::setenv(name_, old_.c_str(), 1); }

 private:
  const char* name_;
  std::string old_;
};

std::vector<std::string> given(std::string_view name) {
  std::vector<std::string> found;
  const PythonEnvironment environment;
  std::ranges::copy_if(environment.variables(), std::back_inserter(found),
                       [&](const std::string& text) { return text.starts_with(name); });
  return found;
}

using Found = std::vector<std::string>;

TEST(PythonEnvironment, KeepsAbsoluteEntriesOfTheSearchPath) {
  EXPECT_EQ(absolute_entries(""), "");
  EXPECT_EQ(absolute_entries(":"), "");
  EXPECT_EQ(absolute_entries("."), "");
  EXPECT_EQ(absolute_entries("/a"), "/a");
  EXPECT_EQ(absolute_entries("/a:/b"), "/a:/b");
  EXPECT_EQ(absolute_entries(":/a::.:b/c:/d e:"), "/a:/d e");
  const Variable path("PYTHONPATH", "/a:");
  EXPECT_EQ(given("PYTHONPATH="), Found{"PYTHONPATH=/a"});
}

TEST(PythonEnvironment, ASearchPathWithoutAbsoluteEntriesIsLeftOut) {
  const Variable path("PYTHONPATH", ":lib");
  EXPECT_EQ(given("PYTHONPATH="), Found{});
}

TEST(PythonEnvironment, AsksForASafePathUnlessTheUserDid) {
  const Variable empty("PYTHONSAFEPATH", "");
  EXPECT_EQ(given("PYTHONSAFEPATH="), Found{"PYTHONSAFEPATH=msprobe"});
  const Variable own("PYTHONSAFEPATH", "1");
  EXPECT_EQ(given("PYTHONSAFEPATH="), Found{"PYTHONSAFEPATH=1"});
}

TEST(PythonEnvironment, CodeIsTakenFromAbsoluteDirectories) {
  const Variable relative("PYTHONPYCACHEPREFIX", "cache");
  EXPECT_EQ(given("PYTHONPYCACHEPREFIX="), Found{});
  const Variable absolute("PYTHONPYCACHEPREFIX", "/cache");
  EXPECT_EQ(given("PYTHONPYCACHEPREFIX="), Found{"PYTHONPYCACHEPREFIX=/cache"});
  const Variable home("PYTHONHOME", ".");
  EXPECT_EQ(given("PYTHONHOME="), Found{});
}

}  // namespace
}  // namespace msprobe
