// SPDX-License-Identifier: Apache-2.0
// One line for a call that does not pass:
//   FAIL Torch.matmul.0   forward, backward   890000 x bound   lost terms (last 4 of 16)
//        module model.layers.0.mlp   net.py:28
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/fail_on.h"
#include "report/report_data.h"
#include "terminal/layout.h"

namespace msprobe::terminal {

enum class Mark : std::uint8_t {
  kNone,
  kFail,          // beyond its bound; without a strict status: verdict error
  kWarn,          // slightly beyond; without a strict status: verdict warning
  kFlag,          // within its bound, but error or warning by the documented thresholds
  kLost,          // should have been checked, and could not be
  kRaised,        // does not run on the device
  kInconclusive,  // within its bound, which proves little
};

Mark mark_of(const report::ReportCall& call);
Field mark_field(Mark mark);  // "FAIL" in red, ...

// Whether a call of this mark is shown on a line of its own; others are only counted. With
// `fail_on`, those are that count as failed.
bool has_line(Mark mark, FailOn fail_on);

// "890000 x bound"; empty for kNoNumber.
std::string bound_text(double over_bound);

// In place of a cause, if no explanation fits.
inline constexpr std::string_view kNoPattern = "no known pattern";

// What a row that fails is blamed on, with a short reason if that is all there is: "wrong dtype
// (torch.float32, recorded is torch.bfloat16)".
std::string cause_of(const report::ReportRow& row);

// "lost terms (last 4 of 16)" of "lost terms: sums without the last 4 of 16 leave 1e-07 of the
// error".
std::string short_cause(std::string_view cause);

// "does not run on the device: Could not run 'aten::lstm' with arguments from the ...".
std::string does_not_run(std::string_view error);

// "forward, backward": the directions in which something is wrong.
std::string wrong_directions(const report::ReportRun& run, const report::ReportCall& call);

// "module model.layers.0.mlp"; empty if that was not recorded.
std::string module_text(const report::ReportCall& call);

std::string call_line(const report::ReportRun& run, const report::ReportCall& call,
                      const Style& style);

}  // namespace msprobe::terminal
