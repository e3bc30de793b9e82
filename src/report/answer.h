// SPDX-License-Identifier: Apache-2.0
// What a reader wants first: is the device right, which APIs are wrong and why, and what was not
// checked. The page, and whoever prints a summary, say it in the same words.
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
  kLost,  // should have been checked, and could not be
};
inline constexpr std::size_t kStandings = 6;

Standing standing(const ReportCall& call);

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
  static constexpr std::size_t kMostLines = 3;
};

struct WrongApi {
  std::string api;
  std::size_t wrong = 0;
  std::size_t total = 0;  // calls of this API that were judged
  std::string cause;      // the most frequent one; empty: nothing fits
};

struct Answer {
  std::size_t checked = 0;
  std::vector<WrongApi> apis;                                // most wrong calls first
  std::vector<std::pair<std::string, std::size_t>> skipped;  // why -> calls, most first
  std::vector<CauseCard> cards;                              // largest error first
};

Answer answer_of(const ReportRun& run);

}  // namespace msprobe::report
