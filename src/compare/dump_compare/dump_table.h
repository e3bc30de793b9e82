// SPDX-License-Identifier: Apache-2.0
// The files of a comparison of two dumps: a table per pair of dumps (CSV, and xlsx), and the rows
// of all of them as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comparison/row_table.h"
#include "core/result.h"
#include "divergence/first_divergence.h"
#include "dump_compare/compare_dumps.h"
#include "dump_compare/inputs.h"

namespace msprobe::dump_compare {

// What a call of the target does to the difference between the runs: "introduces".
using RoleOf = std::function<std::string_view(std::string_view entry)>;

// Called with each row of the table, without its last cell, and that cell.
using OnRow =
    std::function<void(std::string_view entry, std::string_view row, std::string_view role)>;

// The table of one pair. Its rows wait for their last column, which is known when both runs have
// been read.
class DumpTable {
 public:
  // More rows go to further files.
  static constexpr std::size_t kMostRows = 1'000'000;

  static Result<DumpTable> start(const std::filesystem::path& directory, const std::string& stem,
                                 bool xlsx, const CompareStart& start);

  void add(const EntryRows& rows);
  // Names the files. `on_row` may be empty.
  Result<std::vector<std::filesystem::path>> finish(const RoleOf& role_of, const OnRow& on_row = {},
                                                    std::size_t most_rows = kMostRows);

  // The header of the table.
  std::string title_line() const { return table_.title_line(); }

 private:
  struct HeldEntry {
    std::string name;  // of the target; empty: only the golden dump has it
    std::uint32_t rows = 0;
  };
  // Some entries: memory is given back block by block while the table is written.
  struct Block {
    comparison::RowTexts texts;
    std::vector<HeldEntry> entries;
  };

  explicit DumpTable(comparison::RowTable table) : table_(std::move(table)) {}

  comparison::RowTable table_;
  std::deque<Block> blocks_;
  std::size_t rows_ = 0;
};

// Adds the rows of a block to the JSON.
Result<void> add_rows(comparison::RowsJson& json, const DumpPair& pair, DataMode mode,
                      std::span<const EntryRows> block, int threads);

// The rows of a table that belong to each call, as CSV with a header, by rank and call.
using CallTables = std::map<std::pair<int, std::string>, std::string>;

// {"rank_0": [{"op_name": .., "data_info": {"input": [..], "output": [..]}, "stack_info": [..]}]}:
// the calls that introduce a difference, in execution order, with their rows of the table as
// objects. An empty object if the runs agree.
Result<std::string> analysis_json(const divergence::DivergenceReport& report,
                                  const CallTables& tables);

}  // namespace msprobe::dump_compare
