// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/dump_table.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch_directory_for_test.h"

namespace msprobe::dump_compare {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

class DumpTableTest : public ::testing::Test {
 protected:
  // A table with an entry of each number of rows; the last one is only in the golden dump.
  Result<std::vector<fs::path>> written(const std::vector<int>& rows_of_entries, bool xlsx,
                                        std::size_t most_rows) const {
    CompareStart start;
    start.columns = columns_of(DataMode::kMd5, false);
    Result<DumpTable> table = DumpTable::start(directory_, "result", xlsx, start);
    if (!table) return propagate(table);
    for (std::size_t entry = 0; entry < rows_of_entries.size(); ++entry) {
      EntryRows rows;
      const std::string name = fmt::format("Torch.exp.{}.forward", entry);
      if (entry + 1 < rows_of_entries.size()) {
        rows.target = std::make_unique<dump::Entry>();
        rows.target->name = name;
      }
      for (int i = 0; i < rows_of_entries[entry]; ++i) {
        rows.rows.emplace_back();
        const std::string line = fmt::format("{},\"a\nb\",{}", name, i);
        rows.texts.csv += line;
        rows.texts.sizes.push_back(static_cast<std::uint32_t>(line.size()));
        rows.texts.marks.push_back(tables::RowMark::kNone);
        if (!xlsx) continue;
        rows.texts.cells += std::string(start.columns.size(), 'x');
        rows.texts.cell_sizes.insert(rows.texts.cell_sizes.end(), start.columns.size(), 1);
      }
      table->add(rows);
    }
    return table->finish(
        [](std::string_view entry) {
          return entry == "Torch.exp.1.forward" ? "introduces" : "agrees";
        },
        {}, most_rows);
  }

  static std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::vector<std::string> names_in_directory() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  ScratchDirectory scratch_;
  const fs::path directory_ = scratch_.path();
};

TEST_F(DumpTableTest, EveryRowSaysWhatItsCallDoes) {
  ASSERT_TRUE(written({1, 2, 1}, false, 100));
  EXPECT_THAT(names_in_directory(), ElementsAre("result.csv"));
  const std::string text = text_of(directory_ / "result.csv");
  EXPECT_THAT(text, StartsWith("NPU Name,Bench Name,"));
  EXPECT_THAT(text, EndsWith(",Match,Module,Divergence\n"
                             "Torch.exp.0.forward,\"a\nb\",0,agrees\n"
                             "Torch.exp.1.forward,\"a\nb\",0,introduces\n"
                             "Torch.exp.1.forward,\"a\nb\",1,introduces\n"
                             "Torch.exp.2.forward,\"a\nb\",0,N/A\n"));
}

TEST_F(DumpTableTest, ManyRowsGoToSeveralFiles) {
  ASSERT_TRUE(written({1, 3, 1}, false, 2));
  EXPECT_THAT(names_in_directory(),
              ElementsAre("result_part_1.csv", "result_part_2.csv", "result_part_3.csv"));
  for (const std::string& name : names_in_directory()) {
    EXPECT_THAT(text_of(directory_ / name), StartsWith("NPU Name,"));
  }
  EXPECT_THAT(text_of(directory_ / "result_part_2.csv"),
              EndsWith("Divergence\nTorch.exp.1.forward,\"a\nb\",1,introduces\n"
                       "Torch.exp.1.forward,\"a\nb\",2,introduces\n"));
  EXPECT_THAT(text_of(directory_ / "result_part_3.csv"),
              EndsWith("Divergence\nTorch.exp.2.forward,\"a\nb\",0,N/A\n"));
}

TEST_F(DumpTableTest, WritesAWorkbookBesideTheTable) {
  ASSERT_TRUE(written({1, 1}, true, 100));
  EXPECT_THAT(names_in_directory(), ElementsAre("result.csv", "result.xlsx"));
}

TEST_F(DumpTableTest, NoRowsMakeATableOfTitles) {
  ASSERT_TRUE(written({}, false, 100));
  EXPECT_THAT(text_of(directory_ / "result.csv"), EndsWith(",Divergence\n"));
}

}  // namespace
}  // namespace msprobe::dump_compare
