// SPDX-License-Identifier: Apache-2.0
#include "tables/csv_text.h"

#include <gtest/gtest.h>

#include "tables/csv_reader.h"

namespace msprobe::tables {
namespace {

std::string cell(std::string_view text) {
  std::string out;
  append_text(out, text);
  return out;
}

TEST(AppendText, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(cell("torch.float32"), "torch.float32");
  EXPECT_EQ(cell("(2, 3)"), "\"(2, 3)\"");
  EXPECT_EQ(cell("a \"b\""), "\"a \"\"b\"\"\"");
  EXPECT_EQ(cell("line\n"), "\"line\n\"");
  EXPECT_EQ(cell(" "), " ");
  EXPECT_EQ(cell(""), "");
}

TEST(AppendText, FormulasAreDisarmedAndComeBack) {
  EXPECT_EQ(cell("=1+1"), "'=1+1");
  EXPECT_EQ(cell("@x,y"), "\"'@x,y\"");
  EXPECT_EQ(cell("-0.5"), "-0.5");
  EXPECT_EQ(cell("-inf"), "-inf");
  EXPECT_EQ(cell("-f"), "'-f");
  EXPECT_EQ(without_guard("'=1+1"), "=1+1");
  EXPECT_EQ(without_guard("'quoted'"), "'quoted'");
  EXPECT_EQ(without_guard("=1"), "=1");
}

TEST(AppendText, WhatCannotBeSeenIsEscaped) {
  EXPECT_EQ(cell("a\x1b[2J\a"), "a\\x1b[2J\\x07");
  EXPECT_EQ(cell("\u202e,\u200b=1"), "\"\\u202e,\\u200b=1\"");
  EXPECT_EQ(cell("over\rwritten"), "over\\x0dwritten");
  EXPECT_EQ(cell("\xff"), "\\xff");
  EXPECT_EQ(cell("\u7cbe\u5ea6"), "\u7cbe\u5ea6");
  std::string out = "before,";
  const std::size_t start = out.size();
  out += "a\x1b\u009b,b";
  finish_cell(out, start);
  EXPECT_EQ(out, "before,\"a\\x1b\\u009b,b\"");
}

TEST(AppendText, WhatIsWrittenReadsBack) {
  for (const std::string_view text :
       {"plain", "a,b", "\"", "\"\"", "two\r\nlines", "=cmd|'/C calc'!A0", "'x", "＋1", "\tx"}) {
    std::string line;
    append_text(line, text);
    line += kRecordEnd;
    CsvReader reader(line, "f.csv");
    ASSERT_TRUE(*reader.next());
    EXPECT_EQ(without_guard(reader.cells().front()), text);
  }
}

}  // namespace
}  // namespace msprobe::tables
