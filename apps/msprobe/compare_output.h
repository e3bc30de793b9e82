// The files of a comparison: a CSV per rank, the same as xlsx, and the rows as JSON.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "tables/output_file.h"
#include "tables/xlsx_table.h"
#include "torchair/compare.h"
#include "torchair/plan.h"
#include "torchair/row.h"

namespace msprobe::app {

// `stem`, or with a number behind it if an earlier run of the same second has its tables.
std::string free_stem(const std::filesystem::path& directory, const std::string& stem);

struct CompareFiles {
  std::filesystem::path directory;
  std::string timestamp;
  bool xlsx = false;
  std::string json;         // path; empty: none
  bool rank_named = false;  // in the names of the tables, however many ranks there are
};

// Takes rows as they come; every file appears under its name when it is complete.
class CompareOutput {
 public:
  static Result<CompareOutput> start(const CompareFiles& files, const torchair::Plan& plan,
                                     torchair::Mode mode);

  Result<bool> add(const torchair::Row& row);
  void add_bench_only(const torchair::UnitPair& unit, const std::vector<std::string>& names);
  // Writes what is left and names the files. `first` is the first difference.
  Result<std::vector<std::filesystem::path>> finish(const std::optional<torchair::Row>& first,
                                                    const torchair::CompareTotals& totals);

 private:
  struct Table {
    std::filesystem::path csv;
    tables::OutputFile file;
    std::filesystem::path xlsx;
    std::optional<tables::XlsxTable> sheet;
  };
  CompareOutput(CompareFiles files, const torchair::Plan& plan, torchair::Mode mode)
      : files_(std::move(files)), plan_(&plan), mode_(mode) {}
  Result<Table*> table_of(std::int64_t rank);

  CompareFiles files_;
  const torchair::Plan* plan_;
  torchair::Mode mode_;
  std::map<std::int64_t, Table> tables_;  // by rank
  std::optional<tables::OutputFile> json_;
  bool has_json_rows_ = false;
  std::string bench_only_;  // JSON objects, joined
};

}  // namespace msprobe::app
