// SPDX-License-Identifier: Apache-2.0
#include "core/shell_words.h"

#include <array>
#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

#include "core/visible_text.h"
#include "scratch_directory_for_test.h"

namespace msprobe {
namespace {

using Words = std::vector<std::string>;

// The arguments that a real shell makes of a command; each must have no NUL.
Words words_of_shell(const std::string& words) {
  const std::string command = "printf '%s\\0' " + words;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  Words found(1);
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    if (c == 0) {
      found.emplace_back();
    } else {
      found.back() += static_cast<char>(c);
    }
  }
  found.pop_back();
  return found;
}

TEST(ShellWords, OnlyWhatTheShellWouldReadOtherwiseIsQuoted) {
  EXPECT_EQ(shell_word("./d-1/dump.json"), "./d-1/dump.json");
  EXPECT_EQ(shell_word("a=b,c@d+e:0"), "a=b,c@d+e:0");
  EXPECT_EQ(shell_word("\xc3\xbcmlaut/\xe4\xb8\xad"), "\xc3\xbcmlaut/\xe4\xb8\xad");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("x(1)[2]"), "'x(1)[2]'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("=ls"), "'=ls'");
  EXPECT_EQ(shell_word("Torch.exp.$(touch P1)"), "'Torch.exp.$(touch P1)'");
  EXPECT_EQ(shell_word("a\nb"), "\"$(printf 'a\\012b')\"");
  EXPECT_EQ(shell_path("-x.json"), "./-x.json");
  EXPECT_EQ(shell_path("a-x.json"), "a-x.json");
  EXPECT_EQ(shell_command(Words{"python3", "a b.py"}), "python3 'a b.py'");
}

// Every byte alone, between letters, twice, and beside what ends a quotation.
TEST(ShellWords, EveryByteComesThroughARealShell) {
  Words words;
  for (int byte = 1; byte < 256; ++byte) {
    const std::string c(1, static_cast<char>(byte));
    for (const std::string& text :
         {c, "a" + c + "b", c + c, "'" + c, c + "'", "\\" + c, "$(" + c}) {
      words.push_back(text);
    }
  }
  EXPECT_EQ(words_of_shell(shell_command(words)), words);
}

TEST(ShellWords, HostileNamesComeThroughARealShell) {
  const ScratchDirectory scratch;
  const std::string file = (scratch.path() / "ran").string();
  const Words words = {"Torch.exp.$(touch " + file + ")",
                       "Torch.exp.`touch " + file + "`",
                       "Torch.exp.0;touch${IFS}" + file,
                       "Torch.exp.0\ntouch " + file + "\n",
                       "'; touch " + file + "; '",
                       "\"; touch " + file + "; \"",
                       "x'$(touch " + file + ")'",
                       "\u202e'$(touch " + file + ")'%s%n\\047",
                       "--only",
                       "-rf",
                       "-",
                       "~root",
                       "!!",
                       "*",
                       "{a,b}",
                       "#",
                       "\xff\xfe",
                       "\u200b\u2028\u0085",
                       "\n\n"};
  EXPECT_EQ(words_of_shell(shell_command(words)), words);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(ShellWords, ACommandIsVisible) {
  for (const char* text : {"a\033[2Jb", "a\u202eb", "\u009b", "tab\there", "\xff", "two\nlines"}) {
    EXPECT_TRUE(is_visible_line(shell_word(text))) << shell_word(text);
  }
}

TEST(ShellWords, WordsComeBackAsTheyWere) {
  for (const std::string_view text : {"a b", "it's", "plain", "'", "a  b'c d", "x\\y", "$(x)"}) {
    const std::string command = "msprobe " + shell_word(text) + "  --only";
    EXPECT_EQ(shell_split(command), (Words{"msprobe", std::string(text), "--only"}));
  }
  EXPECT_EQ(shell_split(""), Words{});
  EXPECT_EQ(shell_split("''"), Words{""});
}

TEST(ShellWords, MoreThanWordsIsNotRead) {
  for (const std::string_view text : {"a; b", "a|b", "a $(b)", "`b`", "a & b", "a > b", "a 'b",
                                      "$HOME", "\"a\"", "a\nb", "a\\ b", "~", "*", "#x", "a\\"}) {
    EXPECT_EQ(shell_split(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace msprobe
