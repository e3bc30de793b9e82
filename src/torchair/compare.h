// The whole comparison: plan, pair, measure, judge, hand out rows in order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "torchair/plan.h"
#include "torchair/row.h"
#include "torchair/verdict.h"

namespace msprobe::torchair {

struct CompareOptions {
  PlanOptions plan;
  std::optional<Mode> mode;  // nothing: what the files are
  VerdictLimits limits;
  int threads = 1;
  bool places = false;  // see MeasureOptions
};

struct CompareTotals {
  std::uint64_t rows = 0;
  std::uint64_t paired = 0;
  std::uint64_t unmatched = 0;
  std::uint64_t unreadable = 0;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t differing = 0;  // as first_difference counts
};
void add(CompareTotals& totals, const Row& row);

// What the run hears while it goes.
struct CompareEvents {
  std::function<void(const Plan& plan, Mode mode)> on_plan;
  std::function<Result<bool>(const Row& row)> on_row;  // in order; an error ends the run
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress;  // bytes
  std::function<void(const std::string& text)> on_note;
  // Nodes or operators of the reference that nothing was compared with.
  std::function<void(const UnitPair& unit, const std::vector<std::string>& names)> on_bench_only;
};

Result<CompareTotals> compare(const CompareOptions& options, const CompareEvents& events);

}  // namespace msprobe::torchair
