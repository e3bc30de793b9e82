// SPDX-License-Identifier: Apache-2.0
// The contents of a report as plain data: runs, each with its calls and their rows. HTML, JUnit and
// SARIF walk the same runs; whatever judges calls or operators one by one can fill one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/call_command.h"
#include "core/skip.h"
#include "core/verdict.h"
#include "documented/standard.h"
#include "dump/call_sites.h"

namespace msprobe::report {

// A metric that has no value here: metrics may be NaN or infinite, never this.
inline constexpr double kNoNumber = std::numeric_limits<double>::lowest();

// A number a metric is held against, and who says so.
struct Limit {
  std::string_view metric;  // its title
  std::string_view test;    // ">", "<", "<=", "=": how a value meets the limit
  double value = 0;
  std::string_view effect;  // "else error", "then pass", "shown only"
  std::string_view origin;  // "document", "public tool", "decision", "your standards file"

  bool operator==(const Limit&) const = default;
};
using Limits = std::vector<Limit>;

// A metric column of a run's rows.
struct Metric {
  std::string_view title;
  std::string_view side;  // "": of the row itself; "device", "reference": of one of two devices
};

// What a call does to the difference between the two sides of a comparison.
enum class Spread : std::uint8_t {
  kUnknown,
  kAgrees,
  kIntroduces,  // its inputs agree, an output does not
  kInherits,    // its inputs differ already
  kOneSided,    // the other side has no such call
};
inline constexpr std::size_t kSpreads = 5;

// A result of one call is an input of another; both are indices into the run's calls.
struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

// One output or gradient.
struct ReportRow {
  std::string part;  // "forward.output.0"
  Verdict status = Verdict::kSkip;
  std::optional<Verdict> strict;
  std::string bench_dtype;
  std::string device_dtype;
  std::string shape;
  std::string algorithm;
  std::string message;
  SkipReason skip = SkipReason::kNone;  // of a row that is SKIP for a reason
  std::string strict_reason;
  std::string likely_cause;
  double error_over_bound = kNoNumber;  // documented::DetailRow::error_over_bound
  std::string error_map;                // a line of report/error_maps.h; empty: there is none
  std::vector<double> numbers;          // one per metric of the run, kNoNumber if there is none
  std::uint32_t limits = 0;             // index into the run's limits
  documented::Standard standard = documented::Standard::kNone;  // of a comparison
};

// A line of the user's program.
struct StackFrame {
  std::string file;
  std::uint32_t line = 0;
  std::string function;
  std::string code;
  bool library = false;  // inside an installed package, not the user's own
};
using Stack = std::vector<StackFrame>;  // innermost first

struct ReportCall {
  std::string name;                 // "Functional.conv2d.0"
  std::string api;                  // "Functional.conv2d", or the type of an operator
  std::optional<Verdict> forward;   // of the rows of the first direction
  std::optional<Verdict> backward;  // of the second
  std::optional<Verdict> strict;    // the worst of its rows
  std::string message;
  SkipReason skip = SkipReason::kNone;  // that of the message
  std::string group;      // its module, source line or API type: ReportRun::group_title says which
  std::string arguments;  // one per line: name, tab, value
  std::optional<std::uint32_t> stack;  // index into the run's stacks
  std::string script;                  // Python that reproduces its failure; empty: none was made
  dump::CallSite site;                 // its module and lines, as far as they were recorded
  Spread spread = Spread::kUnknown;    // of a comparison
  std::size_t first_row = 0;
  std::size_t row_count = 0;

  Verdict worst() const;
};

// The place to look at first, where rows have an order in which errors spread.
struct FirstDifference {
  std::size_t call = 0;  // index into the run's calls
  std::string text;
};

// What became of the calls of an earlier check of the same device: indices of this run's calls.
struct Since {
  std::string title;  // of the earlier check
  std::vector<std::size_t> appeared;
  std::vector<std::size_t> fixed;
  std::vector<std::size_t> still;
};

struct ReportRun {
  std::string kind;   // "check", "compare", "torchair"
  std::string title;  // of its tab: the device, the file
  std::string place;  // of one of several dumps: "step1/rank0"
  std::vector<std::pair<std::string, std::string>> origin;  // what it is made of: "device" -> "cpu"
  std::array<std::string_view, 2> directions{"forward", "backward"};  // as the parts of rows start
  std::string group_title = "API type";
  CallCommand rerun;      // of each of its calls; empty: not known
  std::string dump;       // the dump.json as given; empty: not known
  std::string dump_hash;  // of what was checked, by the check's own record; empty: not known
  std::vector<Metric> metrics;
  std::vector<Limits> limits{{}};  // the first is empty: nothing is held against anything
  std::vector<ReportCall> calls;
  std::vector<ReportRow> rows;  // those of a call are adjacent
  std::vector<Stack> stacks;
  std::vector<Edge> edges;  // of a comparison, where it is known who reads from whom
  // Groups and the group each one is part of (empty: none); a parent that has no calls of its own
  // is named here, too.
  std::vector<std::pair<std::string, std::string>> group_parents;
  std::map<std::string, std::string> group_kinds;  // of modules: "layers.0.norm2" -> "LayerNorm"
  std::optional<FirstDifference> first_difference;
  std::optional<Since> since;
  // Calls that pass and are not in `calls`, by API: a check that goes on keeps only the others.
  std::map<std::string, std::size_t, std::less<>> passed_apis;
};

// Whether a row is of the first direction of its call.
bool in_first_direction(const ReportRun& run, const ReportRow& row);

// The innermost frame of the user's own code; null if there is none.
const StackFrame* own_frame(const Stack& stack);

// What the outputs of a call are, or where they differ from it should be: its dtype. Empty:
// unknown.
std::string call_dtype(const ReportRun& run, const ReportCall& call);

// The row with a likely cause that is farthest beyond its bound; null if no row has a cause.
const ReportRow* telling_row(const ReportRun& run, const ReportCall& call);

// The row that says what an operator raised on the device; null if none did.
const ReportRow* raised_row(const ReportRun& run, const ReportCall& call);

// In one line, why a call does not pass: what was raised, else the likely cause, else what its
// worst row says; of a call that passes by the documents the strict reason, of a skipped one that
// of the skip. Empty: it passes.
std::string why(const ReportRun& run, const ReportCall& call);

// "conv2d" of "Functional.conv2d.0", "linalg.norm" of "Torch.linalg.norm.0".
std::string_view bare_api(std::string_view call);

// Whether the operator raised an error on the device.
bool raised(const ReportRow& row);

// The first line of what the device said. REQUIRES: raised(row).
std::string raised_text(const ReportRow& row);

}  // namespace msprobe::report
