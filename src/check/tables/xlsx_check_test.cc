// SPDX-License-Identifier: Apache-2.0
#include "tables/xlsx_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"
#include "tables/xlsx_table.h"

namespace msprobe::tables {
namespace {

bool is_whole_xml(std::string_view text) {
  XmlScan whole;
  whole.take(text);
  XmlScan bytes;
  for (const char& c : text) bytes.take({&c, 1});
  EXPECT_EQ(whole.is_whole(), bytes.is_whole()) << text;
  return whole.is_whole();
}

TEST(XmlScan, FindsWhatIsCutOrLost) {
  const std::string text =
      "<?xml version=\"1.0\"?>\n<a b=\"1\"><row r=\"1\"><c/><c>x</c></row></a>";
  EXPECT_TRUE(is_whole_xml(text));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(is_whole_xml(text.substr(0, size))) << size;
  }
  EXPECT_FALSE(is_whole_xml("<a><b></a></b>"));
  EXPECT_FALSE(is_whole_xml("<a></a><b></b>"));
  EXPECT_FALSE(is_whole_xml("<a <b></a>"));
  EXPECT_FALSE(is_whole_xml("<a></b>"));
}

TEST(CheckSpreadsheet, CountsWhatWasWritten) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "a.xlsx";
  auto table = XlsxTable::create(path, {"a", "b", ""});
  ASSERT_TRUE(table);
  table->add(std::vector<XlsxCell>{{.text = "<&>\"\x01"}, {.text = ""}, {.text = "1.5"}},
             RowMark::kNone);
  table->add(std::vector<XlsxCell>{{.text = ""}, {.text = ""}}, RowMark::kNone);
  table->add(std::vector<XlsxCell>{{.text = ""}, {.text = "x"}}, RowMark::kNormal);
  ASSERT_TRUE(table->close());
  EXPECT_TRUE(check_spreadsheet(path, 3, 7));
  EXPECT_FALSE(check_spreadsheet(path, 4, 7));
  EXPECT_FALSE(check_spreadsheet(path, 3, 8));
  const std::string bytes = read_text(path);
  EXPECT_FALSE(check_spreadsheet(scratch.write("cut", bytes.substr(0, bytes.size() / 2)), 3, 7));
}

}  // namespace
}  // namespace msprobe::tables
