// SPDX-License-Identifier: Apache-2.0
// The files of a comparison of two dumps: a table per pair of dumps (CSV, and xlsx), and the rows
// of all of them as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "dump_compare/compare_dumps.h"
#include "dump_compare/inputs.h"
#include "tables/output_file.h"

namespace msprobe::dump_compare {

// What a call of the target does to the difference between the runs: "introduces".
using RoleOf = std::function<std::string_view(std::string_view entry)>;

// The table of one pair. Its rows wait in a file beside it for their last column, which is known
// when both runs have been read. It appears under its name when it is complete.
class DumpTable {
 public:
  // More rows go to further files.
  static constexpr std::size_t kMostRows = 1'000'000;

  static Result<DumpTable> start(const std::filesystem::path& directory, const std::string& stem,
                                 bool xlsx, const CompareStart& start);

  Result<void> add(const EntryRows& rows);
  // Names the files.
  Result<std::vector<std::filesystem::path>> finish(const RoleOf& role_of,
                                                    std::size_t most_rows = kMostRows);

 private:
  struct HeldEntry {
    std::string name;  // of the target; empty: only the golden dump has it
    std::uint32_t rows = 0;
  };

  DumpTable(const std::filesystem::path& directory, const std::string& stem,
            tables::OutputFile held)
      : directory_(directory), stem_(stem), held_(std::move(held)) {}
  Result<std::vector<std::filesystem::path>> write_csv(std::string_view text, const RoleOf& role_of,
                                                       std::size_t most_rows) const;
  Result<std::filesystem::path> write_sheet(std::string_view text, const RoleOf& role_of) const;
  static std::string_view role_of_entry(const HeldEntry& entry, const RoleOf& role_of);

  std::filesystem::path directory_;
  std::string stem_;
  tables::OutputFile held_;  // the rows, without a header and the last column
  std::vector<ItemColumn> columns_;
  bool xlsx_ = false;
  std::vector<HeldEntry> entries_;
  std::vector<std::uint32_t> sizes_;  // bytes of each row, line end included
};

// Rows as JSON, one object each; what is known at the end follows them.
class DumpRowsJson {
 public:
  static Result<DumpRowsJson> start(const std::string& path);

  Result<void> add(const DumpPair& pair, DataMode mode, std::span<const EntryRows> block,
                   int threads);
  // `tail`: the other members, as a JSON object.
  Result<void> finish(const std::string& tail);

 private:
  explicit DumpRowsJson(tables::OutputFile file) : file_(std::move(file)) {}
  tables::OutputFile file_;
  bool has_rows_ = false;
  std::vector<std::string> texts_;  // of the entries of a block
};

}  // namespace msprobe::dump_compare
