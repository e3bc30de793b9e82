// SPDX-License-Identifier: Apache-2.0
// A small run with a call of every kind.
#pragma once

#include <string>
#include <utility>

#include "report/report_data.h"

namespace msprobe::terminal {

inline report::ReportCall& add_call(report::ReportRun& run, std::string name, std::string api,
                                    Verdict status, std::optional<Verdict> strict) {
  report::ReportCall& call = run.calls.emplace_back();
  call.name = std::move(name);
  call.api = std::move(api);
  call.forward = status;
  call.strict = strict;
  call.first_row = run.rows.size();
  return call;
}

inline void add_row(report::ReportRun& run, std::string part, Verdict status,
                    std::optional<Verdict> strict, double size, std::string reason,
                    std::string cause) {
  report::ReportRow& row = run.rows.emplace_back();
  row.part = std::move(part);
  row.status = status;
  row.strict = strict;
  row.error_over_bound = size;
  row.strict_reason = std::move(reason);
  row.likely_cause = std::move(cause);
  ++run.calls.back().row_count;
}

// A call that was not checked, with its one row.
inline void add_skip(report::ReportRun& run, std::string name, std::string api, SkipReason reason,
                     const std::string& message) {
  report::ReportCall& call =
      add_call(run, std::move(name), std::move(api), Verdict::kSkip, Verdict::kSkip);
  call.message = message;
  call.skip = reason;
  add_row(run, "forward.output.0", Verdict::kSkip, Verdict::kSkip, report::kNoNumber, "", "");
  run.rows.back().message = message;
  run.rows.back().skip = reason;
}

inline report::ReportRun small_run() {
  using enum Verdict;
  report::ReportRun run;
  add_call(run, "Torch.matmul.0", "Torch.matmul", kError, kError).site.line =
      "/home/me/train.py:28";
  add_row(run, "forward.output.0", kError, kError, 8.94e+05,
          "9 of 9 elements are beyond the bound, worst at (0): device 2, bench 1, 8.94e+05 times "
          "its bound",
          "lost terms: sums without the last 4 of 16 leave 1e-07 of the error");
  add_row(
      run, "backward.output.0", kPass, kError, 7,
      "9 of 9 elements are beyond the bound, worst at (0): device 2, bench 1, 7 times its bound",
      "lost terms: sums without the last 8 of 32 leave 1e-07 of the error; gradient only");
  add_call(run, "Torch.exp.1", "Torch.exp", kError, kPass);
  add_row(run, "forward.output.0", kError, kPass, 0, "equal", "");
  run.rows.back().message = "Cosine similarity is less than 0.99, consider as error.";
  add_call(run, "Torch.exp.2", "Torch.exp", kPass, kWarning);
  add_row(run, "forward.output.0", kPass, kWarning, 2,
          "1 of 9 elements is beyond the bound, worst at (0): device 2, bench 1, 2 times its bound",
          "");
  add_skip(run, "Torch.cat.0", "Torch.cat", SkipReason::kCrashed, "crashed: signal 11");
  add_skip(run, "Torch.cat.1", "Torch.cat", SkipReason::kUnknownApi, "unknown_api: cat");
  run.passed_apis = {{"Torch.matmul", 3}, {"Torch.add", 60}};
  return run;
}

}  // namespace msprobe::terminal
