// SPDX-License-Identifier: Apache-2.0
#include "tables/csv_reader.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::tables {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Table = std::vector<std::vector<std::string>>;

Result<Table> read_all(std::string_view text) {
  CsvReader reader(text, "f.csv");
  Table table;
  while (true) {
    const Result<bool> more = reader.next();
    if (!more) return propagate(more);
    if (!*more) return table;
    table.emplace_back(reader.cells().begin(), reader.cells().end());
  }
}

TEST(CsvReader, TakesEveryLineEndAndAByteOrderMark) {
  EXPECT_THAT(*read_all("\xEF\xBB\xBF"
                        "a,b\r\nc,d\ne,f\rg,h"),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d"), ElementsAre("e", "f"),
                          ElementsAre("g", "h")));
  EXPECT_THAT(*read_all(""), IsEmpty());
  EXPECT_THAT(*read_all("\r\n\n\r\n"), IsEmpty());
}

TEST(CsvReader, QuotedCellsKeepCommasQuotesAndLines) {
  EXPECT_THAT(
      *read_all("\"a,b\",\"say \"\"hi\"\"\",\"two\r\nlines\"\r\nnext,,\r\n"),
      ElementsAre(ElementsAre("a,b", "say \"hi\"", "two\r\nlines"), ElementsAre("next", "", "")));
}

TEST(CsvReader, QuotesInOddPlacesReadAsPythonReadsThem) {
  EXPECT_THAT(*read_all("a\"b,\"c\"d,\"\"\r\n"), ElementsAre(ElementsAre("a\"b", "cd", "")));
  EXPECT_THAT(*read_all("\"a\"\"\""), ElementsAre(ElementsAre("a\"")));
}

TEST(CsvReader, BlanksAndRaggedRecordsStayAsTheyAre) {
  EXPECT_THAT(*read_all(" ,x\n1\n1,2,3\n"),
              ElementsAre(ElementsAre(" ", "x"), ElementsAre("1"), ElementsAre("1", "2", "3")));
}

TEST(CsvReader, FormulasAreText) {
  EXPECT_THAT(*read_all("=1+1,@SUM(A1)\n"), ElementsAre(ElementsAre("=1+1", "@SUM(A1)")));
}

TEST(CsvReader, NamesTheLineOfAnOpenQuote) {
  const auto open = read_all("a\nb\n\"c\nd\n");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().message, "f.csv: line 3: a quote is opened here and never closed");
}

TEST(CsvReader, NamesTheLineOfANulByte) {
  using namespace std::string_view_literals;
  const auto plain = read_all("a\nb\0c\n"sv);
  ASSERT_FALSE(plain);
  EXPECT_THAT(plain.error().message, HasSubstr("f.csv: line 2: a NUL byte"));
  EXPECT_FALSE(read_all("\"a\0\"\n"sv));
}

TEST(CsvReader, TellsWhereEachRecordStarts) {
  CsvReader reader("a,b\r\n\"x\ny\",z\r\nlast", "f.csv");
  ASSERT_TRUE(*reader.next());
  EXPECT_EQ(reader.record_offset(), 0U);
  EXPECT_EQ(reader.offset(), 5U);
  ASSERT_TRUE(*reader.next());
  EXPECT_EQ(reader.record_offset(), 5U);
  EXPECT_EQ(reader.line(), 2U);
  ASSERT_TRUE(*reader.next());
  EXPECT_EQ(reader.line(), 4U);
  EXPECT_FALSE(*reader.next());
}

}  // namespace
}  // namespace msprobe::tables
