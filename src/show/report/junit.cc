// SPDX-License-Identifier: Apache-2.0
#include "report/junit.h"

#include <map>
#include <vector>

#include <fmt/format.h>

#include "core/visible_text.h"
#include "dump/call_sites.h"
#include "tables/output_file.h"

namespace msprobe::report {
namespace {

enum class Outcome : std::uint8_t { kPassed, kFailed, kLost, kSkipped };

struct Case {
  std::string xml;
  Outcome outcome = Outcome::kPassed;
};

// One direction of a call: its rows and its verdict.
struct Direction {
  const ReportRun& run;
  const ReportCall& call;
  bool forward;
  Verdict verdict;
};

// What a person reads in the log of a failed case.
std::string row_text(const ReportRow& row) {
  std::string text = fmt::format("{}  {}", row.part, name(row.status));
  if (row.strict) text += fmt::format(", strict {}", name(*row.strict));
  if (!row.shape.empty()) text += fmt::format("  {} {}", row.device_dtype, row.shape);
  text += '\n';
  for (const std::string* more : {&row.message, &row.strict_reason, &row.likely_cause}) {
    if (!more->empty()) text += fmt::format("  {}\n", *more);
  }
  return text;
}

// Why a row fails, in one line.
std::string cause_of(const ReportRow& row) {
  if (raised(row)) return "does not run on the device: " + raised_text(row);
  if (!row.likely_cause.empty()) return row.likely_cause;
  return is_alarm(row.status) || row.strict_reason.empty() ? row.message : row.strict_reason;
}

// The verdict that makes it fail.
std::string_view failure_type(const ReportRow& row, FailOn fail_on) {
  if (raised(row)) return "raised";
  return name(by_documents(fail_on) ? row.status : row.strict.value_or(row.status));
}

Case make_case(const Direction& direction, FailOn fail_on) {
  const ReportCall& call = direction.call;
  Case made;
  const std::string_view way = direction.run.directions[direction.forward ? 0 : 1];
  made.xml = fmt::format("    <testcase classname=\"{}\" name=\"{}.{}\"", xml_text(call.api),
                         xml_text(call.name), way);
  std::string failures;
  std::string first;
  std::string_view type;
  const ReportRow* skipped = nullptr;
  std::string little;  // why a pass proves little
  for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
    const ReportRow& row = direction.run.rows[i];
    if (in_first_direction(direction.run, row) != direction.forward) continue;
    if (row.status == Verdict::kSkip && skipped == nullptr) skipped = &row;
    if (row.strict == Verdict::kInconclusive && little.empty()) little = row.strict_reason;
    if (!raised(row) && !counts_as_failed(fail_on, row.status, row.strict)) continue;
    if (type.empty()) {
      first = cause_of(row);
      type = failure_type(row, fail_on);
    }
    failures += row_text(row);
  }
  if (!failures.empty()) {
    made.outcome = Outcome::kFailed;
    if (!call.site.empty()) failures += fmt::format("at {}\n", dump::site_text(call.site));
    if (!direction.run.rerun.empty()) {
      failures += fmt::format("{}\n", direction.run.rerun.text_for(call.name));
    }
    made.xml += fmt::format("><failure type=\"{}\" message=\"{}\">{}</failure></testcase>\n", type,
                            xml_text(first), xml_text(failures));
    return made;
  }
  if (!little.empty()) {
    made.outcome = Outcome::kSkipped;
    made.xml +=
        fmt::format("><skipped message=\"inconclusive: {}\"/></testcase>\n", xml_text(little));
    return made;
  }
  if (direction.verdict != Verdict::kSkip) {
    made.xml += "/>\n";
    return made;
  }
  const bool by_row = skipped != nullptr && !skipped->message.empty();
  const std::string& skip = by_row ? skipped->message : call.message;
  made.outcome = is_lost(by_row ? skipped->skip : call.skip) ? Outcome::kLost : Outcome::kSkipped;
  made.xml += fmt::format("><{} message=\"{}\"/></testcase>\n",
                          made.outcome == Outcome::kLost ? "error" : "skipped", xml_text(skip));
  return made;
}

struct Suite {
  std::string cases;
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;

  void add(const Case& made) {
    cases += made.xml;
    ++tests;
    failures += made.outcome == Outcome::kFailed ? 1 : 0;
    errors += made.outcome == Outcome::kLost ? 1 : 0;
    skipped += made.outcome == Outcome::kSkipped ? 1 : 0;
  }
  std::string counts() const {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", tests, failures,
                       errors, skipped);
  }
};

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : visible_text(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\r':
        out += "&#13;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string junit_text(std::span<const ReportRun> runs, FailOn fail_on) {
  Suite all;
  std::string suites;
  for (const ReportRun& run : runs) {
    std::map<std::string_view, Suite> by_api;
    for (const ReportCall& call : run.calls) {
      const auto add = [&](bool forward, std::optional<Verdict> verdict) {
        if (!verdict) return;
        const Case made = make_case({run, call, forward, *verdict}, fail_on);
        by_api[call.api].add(made);
      };
      add(true, call.forward);
      add(false, call.backward);
    }
    for (const auto& [api, suite] : by_api) {
      const std::string prefix = runs.size() > 1 ? run.title + ": " : std::string();
      suites += fmt::format("  <testsuite name=\"{}{}\" {}>\n{}  </testsuite>\n", xml_text(prefix),
                            xml_text(api), suite.counts(), suite.cases);
      all.tests += suite.tests;
      all.failures += suite.failures;
      all.errors += suite.errors;
      all.skipped += suite.skipped;
    }
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"msprobe\" {}>\n{}"
      "</testsuites>\n",
      all.counts(), suites);
}

Result<void> write_junit(const std::filesystem::path& path, std::span<const ReportRun> runs,
                         FailOn fail_on) {
  Result<tables::OutputFile> file = tables::OutputFile::create(path);
  if (!file) return propagate(file);
  file->buffer() = junit_text(runs, fail_on);
  return file->commit();
}

}  // namespace msprobe::report
