// SPDX-License-Identifier: Apache-2.0
#include "core/shell_words.h"

#include <gtest/gtest.h>

namespace msprobe {
namespace {

TEST(ShellWords, OnlyWhatTheShellWouldReadOtherwiseIsQuoted) {
  EXPECT_EQ(shell_word("./d-1/dump.json"), "./d-1/dump.json");
  EXPECT_EQ(shell_word("a=b,c@d+e:0"), "a=b,c@d+e:0");
  EXPECT_EQ(shell_word("\xc3\xbcmlaut/\xe4\xb8\xad"), "\xc3\xbcmlaut/\xe4\xb8\xad");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("x(1)[2]"), "'x(1)[2]'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(ShellWords, WordsComeBackAsTheyWere) {
  for (const std::string_view text : {"a b", "it's", "plain", "'", "a  b'c d", "x\\y"}) {
    const std::string command = "msprobe " + shell_word(text) + " --only";
    std::string_view rest = command;
    EXPECT_EQ(next_shell_word(rest), "msprobe");
    EXPECT_EQ(unquoted(next_shell_word(rest)), text);
    EXPECT_EQ(rest, "--only");
  }
}

}  // namespace
}  // namespace msprobe
