// SPDX-License-Identifier: Apache-2.0
// The files of a comparison: a CSV per rank, the same as xlsx, and the rows as JSON.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comparison/row_table.h"
#include "core/json_writer.h"
#include "core/result.h"
#include "torchair/graph_compare.h"
#include "torchair/tensor_row.h"
#include "torchair/unit_plan.h"

namespace msprobe::torchair {

struct GraphFiles {
  std::filesystem::path directory;
  std::string timestamp;
  bool xlsx = false;
  std::string json;         // path; empty: none
  bool rank_named = false;  // in the names of the tables, however many ranks there are
};

// Takes rows as they come; every file appears under its name when it is complete.
class GraphOutput {
 public:
  static Result<GraphOutput> start(const GraphFiles& files, const UnitPlan& plan, GraphMode mode);

  Result<bool> add(const TensorRow& row);
  void add_bench_only(const UnitPair& unit, const std::vector<std::string>& names);
  // Writes what is left and names the files. `first` is the first difference.
  Result<std::vector<std::filesystem::path>> finish(const std::optional<TensorRow>& first,
                                                    const CompareTotals& totals);

 private:
  GraphOutput(GraphFiles files, const UnitPlan& plan, GraphMode mode)
      : files_(std::move(files)), plan_(&plan), mode_(mode) {}
  Result<comparison::RowTable*> table_of(std::int64_t rank);

  GraphFiles files_;
  const UnitPlan* plan_;
  GraphMode mode_;
  std::map<std::int64_t, comparison::RowTable> tables_;  // by rank
  comparison::RowTexts texts_;
  std::optional<comparison::RowsJson> json_;
  std::string bench_only_;  // JSON objects, joined
};

void write_row(JsonWriter& json, const TensorRow& row);
// rank, graph, token, op, side, index
void write_place(JsonWriter& json, const TensorRow& row);

}  // namespace msprobe::torchair
