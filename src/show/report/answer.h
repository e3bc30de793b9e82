// SPDX-License-Identifier: Apache-2.0
// The answer a reader wants first: is the device right, which APIs are wrong and why, and what was
// not checked. The page, and whoever prints a summary, say it in the same words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/report_data.h"

namespace msprobe::report {

// One word for a call. The strict status decides where there is one: it has a proven bound.
enum class Standing : std::uint8_t {
  kWrong,           // beyond its bound; without a strict status: verdict error
  kSlight,          // up to four bounds; without a strict status: verdict warning
  kDocumentedOnly,  // within its bound, but flagged by the documented thresholds
  kPass,
  kSkipped,
  kLost,          // should have been checked, and could not be
  kRaised,        // an operator raised an error on the device: it does not run there
  kInconclusive,  // within its bound, which proves little here
};
inline constexpr std::size_t kStandings = 8;

Standing standing(const ReportCall& call);
// "wrong", "slightly wrong", "documented thresholds only", "pass", "skipped", "lost", "raised",
// "inconclusive": for machines.
std::string_view name(Standing standing);

// The largest error over bound of a call's rows; kNoNumber if none has one.
double worst_over_bound(const ReportRun& run, const ReportCall& call);

// "lost terms" of "lost terms: sums without the last 4 of 16 leave 1e-07 of the error", of the row
// that is farthest off; empty if nothing fits.
std::string cause_name(const ReportRun& run, const ReportCall& call);

// The same in full: why() of the call, and for a cause without details the strict reason.
std::string cause_text(const ReportRun& run, const ReportCall& call);

// "train.py:28" of the innermost own line; empty if it is not known.
std::string source_line(const ReportRun& run, const ReportCall& call);

// Calls of one API that are wrong for one cause.
struct CauseCard {
  std::string api;
  std::string cause;     // "lost terms"; empty: nothing fits
  std::string evidence;  // the whole text for the worst call
  std::size_t calls = 0;
  std::size_t slight = 0;          // of them only slightly
  std::size_t worst_call = 0;      // index into the run's calls
  double worst = kNoNumber;        // its error over bound
  std::vector<std::string> lines;  // source lines, each once, at most kMostLines
  std::size_t more_lines = 0;      // beyond these
  std::size_t dumps = 0;           // of several dumps: in how many of them
  static constexpr std::size_t kMostLines = 3;
};

struct WrongApi {
  std::string api;
  std::size_t wrong = 0;
  std::size_t total = 0;  // calls of this API that were judged
  std::string cause;      // the most frequent one; empty: nothing fits
};

// Calls of one API that do not run on the device.
struct RaisedApi {
  std::string api;
  std::string text;  // the first line of what the first of them raised
  std::size_t calls = 0;
  std::size_t first_call = 0;      // index into the run's calls
  std::vector<std::string> lines;  // source lines, each once, at most CauseCard::kMostLines
  std::size_t more_lines = 0;      // beyond these
  std::size_t dumps = 0;           // of several dumps: in how many of them
};

struct Answer {
  std::size_t dumps = 0;  // of several dumps: how many; 0: it is of one
  std::size_t checked = 0;
  std::size_t inconclusive = 0;   // of them
  std::size_t flagged = 0;        // of them: by the documented thresholds only
  std::vector<RaisedApi> raised;  // most calls first
  std::vector<WrongApi> apis;     // most wrong calls first
  std::vector<std::pair<std::string, std::size_t>> skipped;  // why -> calls, most first
  std::vector<CauseCard> cards;                              // largest error first
};

Answer answer_of(const ReportRun& run);

}  // namespace msprobe::report
