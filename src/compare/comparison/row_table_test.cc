// SPDX-License-Identifier: Apache-2.0
#include "comparison/row_table.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::comparison {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

constexpr std::array<Column<int, std::string>, 2> kColumns{{
    {"number", [](std::string& out, const int& number,
                  const std::string&) { out += fmt::format("{}", number); }},
    {"text", [](std::string& out, const int&, const std::string& text) { out += text; }, true},
}};
constexpr std::span<const Column<int, std::string>> kAll = kColumns;

constexpr std::array<std::string_view, 3> kX{"x", "x", "x"};
constexpr std::array<std::string_view, 3> kY{"y", "y", "y"};

class RowTableTest : public ::testing::Test {
 protected:
  RowTexts rows(int count, bool with_cells = false) const {
    RowTexts texts;
    for (int i = 0; i < count; ++i) {
      append_row(texts, kAll, with_cells, tables::RowMark::kNone, i, std::string("a,\"b"));
    }
    return texts;
  }

  Result<RowTable> table(bool xlsx, CsvStyle style = kDumpStyle) const {
    std::vector<TableTitle> titles = titles_of(kAll);
    titles.push_back({"last", true});
    return RowTable::create({directory_, "result", xlsx}, style, std::move(titles));
  }

  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(directory_ / name).rdbuf();
    return text.str();
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      found.push_back(entry.path().filename().string());
    }
    std::ranges::sort(found);
    return found;
  }

  ScratchDirectory scratch_;
  const fs::path directory_ = scratch_.path();
};

TEST_F(RowTableTest, TheLastCellFollowsEveryRow) {
  Result<RowTable> made = table(false);
  ASSERT_TRUE(made->add(rows(2), kX));
  ASSERT_TRUE(made->finish());
  EXPECT_EQ(text_of("result.csv"), "number,text,last\n0,\"a,\"\"b\",x\n1,\"a,\"\"b\",x\n");
}

TEST_F(RowTableTest, EachKindOfComparisonKeepsItsLineEnds) {
  Result<RowTable> made = table(false, kGraphStyle);
  ASSERT_TRUE(made->add(rows(1), kX));
  ASSERT_TRUE(made->finish());
  EXPECT_EQ(text_of("result.csv"), "\xEF\xBB\xBFnumber,text,last\r\n0,\"a,\"\"b\",x\r\n");
}

TEST_F(RowTableTest, NoRowsMakeATableOfTitles) {
  ASSERT_TRUE(table(false)->finish());
  EXPECT_EQ(text_of("result.csv"), "number,text,last\n");
}

TEST_F(RowTableTest, ManyRowsGoToSeveralFiles) {
  Result<RowTable> made = table(false);
  made->expect(5, 2);
  ASSERT_TRUE(made->add(rows(3), kX));
  ASSERT_TRUE(made->add(rows(2), kY));
  ASSERT_TRUE(made->finish());
  made = fail(ErrorKind::kIo, "");
  EXPECT_THAT(names(), ElementsAre("result_part_1.csv", "result_part_2.csv", "result_part_3.csv"));
  EXPECT_EQ(text_of("result_part_2.csv"), "number,text,last\n2,\"a,\"\"b\",x\n0,\"a,\"\"b\",y\n");
}

TEST_F(RowTableTest, TwoTablesOfOneSecondHaveTwoNames) {
  Result<RowTable> one = table(true);
  Result<RowTable> other = table(true);
  ASSERT_TRUE(one->add(rows(1, true), kX));
  EXPECT_THAT(*one->finish(), ElementsAre(directory_ / "result.csv", directory_ / "result.xlsx"));
  EXPECT_THAT(*other->finish(),
              ElementsAre(directory_ / "result_2.csv", directory_ / "result_2.xlsx"));
}

TEST(RowTexts, CellsOfTheWorkbookAreNotQuoted) {
  RowTexts texts;
  append_row(texts, kAll, true, tables::RowMark::kAbnormal, 7, std::string("a,b"));
  EXPECT_EQ(texts.cells, "7a,b");
  EXPECT_THAT(texts.cell_sizes, ElementsAre(1, 3));
  EXPECT_EQ(texts.csv, "7,\"a,b\"");
}

}  // namespace
}  // namespace msprobe::comparison
