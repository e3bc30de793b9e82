// SPDX-License-Identifier: Apache-2.0
// The whole comparison: plan, pair, measure, judge, emit rows in order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "torchair/criteria.h"
#include "torchair/dump_files.h"
#include "torchair/tensor_row.h"
#include "torchair/unit_plan.h"

namespace msprobe::torchair {

struct GraphCompareOptions {
  UnitPlanOptions plan;
  std::optional<GraphMode> mode;  // nothing: what the files are
  VerdictLimits limits;
  int threads = 1;
  bool places = false;  // see OpMeasureOptions
};

struct CompareTotals : comparison::Totals {
  std::uint64_t differing = 0;  // as first_difference counts
  std::uint64_t unread = 0;     // files that could not be read: the rows above may be others
};

// Callbacks invoked during a comparison.
struct GraphCompareEvents {
  std::function<void(const UnitPlan& plan, GraphMode mode)> on_plan;
  std::function<Result<bool>(const TensorRow& row)> on_row;  // in order; an error ends the run
  // After the rows of an operator; `number` is its place in its unit, which OpRows::sources name.
  std::function<void(const OpRows& op, std::uint32_t number)> on_op;
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress;  // bytes
  std::function<void(const std::string& text)> on_note;
  // Nodes or operators of the reference that nothing was compared with.
  std::function<void(const UnitPair& unit, const std::vector<std::string>& names)> on_bench_only;
};

Result<CompareTotals> compare(const GraphCompareOptions& options, const GraphCompareEvents& events);

// Statistics where any file is one, or was converted to minimum and maximum; else real data, to
// which a user's own values of another number belong too: they are compared as vectors.
GraphMode find_mode(const UnitPlan& plan, DumpFiles& files);

struct OpMeasureOptions {
  GraphMode mode = GraphMode::kReal;
  int threads = 1;      // for one tensor
  bool places = false;  // of every largest error, not of those that matter only
};

// All rows of one operator. What cannot be read after all makes its row unreadable.
void measure_op(OpRows& op, const OpMeasureOptions& options, DumpFiles& files);

}  // namespace msprobe::torchair
