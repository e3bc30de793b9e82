// SPDX-License-Identifier: Apache-2.0
// DetailRow: what the details CSV says of one output or one gradient. ResultRow: of one call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/skip.h"
#include "core/verdict.h"

namespace msprobe::documented {

// A metric cell.
struct Cell {
  enum class Kind : std::uint8_t {
    kBlank,    // not applicable: one space in the CSV
    kInteger,  // the bare 0 of an empty set
    kDouble,
    kSingle,  // profile reference only: computed in single precision by the public tool, which
              // prints it in shortest form
    kHalf,    // likewise, in half precision (bench and device both float16)
  };
  Kind kind = Kind::kBlank;
  double value = 0;

  bool blank() const { return kind == Kind::kBlank; }
};

inline constexpr std::string_view kBlankText = " ";

struct DetailRow {
  std::string api_name;                 // "Functional.conv2d.0.forward.output.0"
  std::string bench_dtype{kBlankText};  // "torch.float32", "<class 'int'>"; " " if there is none
  std::string device_dtype{kBlankText};
  std::string shape{kBlankText};  // "(2, 3)"; " " if there is none
  Cell cosine;
  Cell max_abs_error;
  Cell dual_100;
  Cell dual_1000;
  Cell dual_10000;
  Cell binary_error_rate;
  Cell error_balance;
  Cell rmse;
  Cell small_value_error_ratio;
  Cell max_relative_error;
  Cell mean_relative_error;
  Cell inf_nan_error_rate;
  Cell relative_error_rate;
  Cell absolute_error_rate;
  Cell max_ulp_error;
  Cell mean_ulp_error;
  Cell ulp_error_proportion;
  Verdict status = Verdict::kSkip;
  std::string message;
  // run_ut only: what it says beside each metric.
  std::string cosine_message;
  std::string max_relative_message;
  std::string max_abs_message;
  std::string dual_1000_message;
  std::string dual_10000_message;
  std::string builtin{kBlankText};  // "True", "False"; " " where the output is a tensor
  std::string builtin_message;
  // Profile documented only.
  std::optional<Verdict> strict_status;
  std::string strict_reason;
  std::string likely_cause;
  std::string rerun_command;
  std::optional<double> error_over_bound;  // as StrictFinding has it
  // In no CSV. Of rows that were read from one, the first two are what the message says.
  SkipReason skip = SkipReason::kNone;  // why there are no results; kNone: nothing to compare
  bool float8_input = false;            // an argument of the call is an 8-bit float
  std::string error_map;                // see journal/map_lines.h
  std::string explanation;              // as StrictFinding has it
};

// One line of the result CSV. An empty verdict is a blank cell: there was nothing to judge.
struct ResultRow {
  std::string api_name;  // "Functional.conv2d.0"
  std::optional<Verdict> forward;
  std::optional<Verdict> backward;
  std::string message;
  std::optional<Verdict> strict = {};   // the worst of its details; a check shows it only there
  SkipReason skip = SkipReason::kNone;  // of the row whose message this is; in no CSV
  // api_precision_compare only: the reference device's status, and the verdict derived from both.
  std::optional<Verdict> strict_reference = {};
  std::string strict_verdict = {};
};

}  // namespace msprobe::documented
