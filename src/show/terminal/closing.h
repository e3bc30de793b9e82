// SPDX-License-Identifier: Apache-2.0
// The end of a check: the worst calls by API and cause, then one sentence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/answer.h"
#include "report/report_data.h"
#include "terminal/layout.h"

namespace msprobe::terminal {

// Ten groups at most, the largest error first:
//   Torch.matmul   4 calls   890000 x bound   lost terms   train.py:28
// Of several dumps "48 calls, in 16 of 16 dumps". Empty if nothing is wrong.
std::string worst_groups(const report::ReportRun& run, const report::Answer& answer,
                         const Style& style);

// What the sentence says beside the answer.
struct Closing {
  std::string device;
  double seconds = 0;
  std::size_t slight = 0;  // calls slightly beyond their bound
  std::size_t lost = 0;
  bool failed = false;                // the exit status is 1
  std::vector<std::string> left_out;  // "6 not selected by --only"
  std::string decided_by;             // "--fail-on error"; where others than these calls count
  std::string results;                // the result CSV
  std::string report;                 // the page, or the command that makes it
  std::string summary;                // the JSON file
  std::string next;                   // a command; empty: none
  std::string same_as;                // an earlier dump with the same findings; empty: none
};

// Counts slight and lost calls of `run`.
Closing closing_of(const report::ReportRun& run);

// "2 APIs wrong (matmul 4 of 4, conv2d 1 of 3); 5 of 72 calls".
std::string finding_text(const report::Answer& answer, const Closing& closing);

// "sim: 2 APIs wrong (matmul 4 of 4, conv2d 1 of 3); 5 of 72 calls; 0.8 s", or "cpu: OK. ...", then
// where the results are and what to do next.
std::string closing_text(const report::Answer& answer, const Closing& closing, const Style& style);

}  // namespace msprobe::terminal
