// SPDX-License-Identifier: Apache-2.0
// The GPU's details CSV, kept as what a comparison needs of each row and found by the row's name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "core/verdict.h"
#include "documented/detail_row.h"

namespace msprobe::final_verdict {

// The metrics a device is measured against; the first five are those of the benchmark comparison.
inline constexpr std::array kKeptMetrics = {
    &documented::DetailRow::small_value_error_ratio, &documented::DetailRow::rmse,
    &documented::DetailRow::max_relative_error,      &documented::DetailRow::mean_relative_error,
    &documented::DetailRow::error_balance,           &documented::DetailRow::mean_ulp_error,
    &documented::DetailRow::ulp_error_proportion};
inline constexpr std::size_t kMeanUlp = 5;
inline constexpr std::size_t kUlpProportion = 6;

struct GpuRow {
  std::array<double, kKeptMetrics.size()> metrics{};
  std::uint64_t line = 0;        // of the CSV
  std::uint64_t dtype_hash = 0;  // of the DEVICE Dtype cell and of the Shape cell; 0: blank
  std::uint64_t shape_hash = 0;
  std::uint8_t blank_metrics = 0;  // bit i: metrics[i] was blank
  std::optional<Verdict> strict;
  bool cosine_finite = true;  // a blank counts as finite
  bool max_abs_finite = true;
  bool damaged = false;   // the row cannot be trusted
  bool repeated = false;  // the name occurs again further down
  bool matched = false;   // an NPU row asked for it

  documented::Cell metric(std::size_t i) const;
};

// 0 for a blank.
std::uint64_t text_hash(std::string_view text);

// Not finite on a side that has the metric at all.
bool finite_or_blank(const documented::Cell& cell);

class GpuIndex {
 public:
  void add(const documented::DetailRow& row, std::uint64_t line, bool damaged);
  GpuRow* find(std::string_view name);

  std::size_t row_count() const { return row_count_; }
  // Names nobody asked for, in the order of the CSV.
  std::vector<std::string_view> unmatched() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, GpuRow, Hash, std::equal_to<>> rows_;
  std::size_t row_count_ = 0;
};

}  // namespace msprobe::final_verdict
