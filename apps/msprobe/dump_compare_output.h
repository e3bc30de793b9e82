// The files of a comparison of two dumps: a table per pair of dumps (CSV, and xlsx), and the rows
// of all of them as JSON.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "dump_compare/compare.h"
#include "dump_compare/inputs.h"
#include "report/output_file.h"
#include "report/xlsx_table.h"

namespace msprobe::app {

// The table of one pair. It appears under its name when it is complete.
class DumpTable {
 public:
  static Result<DumpTable> start(const std::filesystem::path& directory, const std::string& stem,
                                 bool xlsx, const dump_compare::CompareStart& start);

  Result<void> add(const dump_compare::EntryRows& rows);
  // Names the files.
  Result<std::vector<std::filesystem::path>> finish();

 private:
  DumpTable(std::filesystem::path path, report::OutputFile csv,
            std::vector<dump_compare::Column> columns)
      : path_(std::move(path)), csv_(std::move(csv)), columns_(std::move(columns)) {}
  void add_to_sheet(const dump_compare::EntryRows& rows);

  std::filesystem::path path_;  // of the CSV
  report::OutputFile csv_;
  std::vector<dump_compare::Column> columns_;
  std::filesystem::path sheet_path_;
  std::optional<report::XlsxTable> sheet_;
};

// Rows as JSON, one object each; what is known at the end follows them.
class DumpRowsJson {
 public:
  static Result<DumpRowsJson> start(const std::string& path);

  Result<void> add(const dump_compare::DumpPair& pair, dump_compare::Mode mode,
                   const dump_compare::EntryRows& rows);
  // `tail`: the other members, as a JSON object.
  Result<void> finish(const std::string& tail);

 private:
  explicit DumpRowsJson(report::OutputFile file) : file_(std::move(file)) {}
  report::OutputFile file_;
  bool has_rows_ = false;
};

}  // namespace msprobe::app
