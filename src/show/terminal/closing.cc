// SPDX-License-Identifier: Apache-2.0
#include "terminal/closing.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "terminal/call_line.h"

namespace msprobe::terminal {
namespace {

using report::Answer;
using report::CauseCard;
using report::ReportRun;

constexpr std::size_t kMostGroups = 10;
constexpr std::size_t kMostApis = 6;  // named in the sentence

std::string calls_text(std::size_t calls) {
  return fmt::format("{} call{}", calls, calls == 1 ? "" : "s");
}

// "48 calls, in 16 of 16 dumps".
template <class Card>
std::string calls_text(const Card& card, const Answer& answer) {
  if (answer.dumps == 0) return calls_text(card.calls);
  return fmt::format("{}, in {} of {} dumps", calls_text(card.calls), card.dumps, answer.dumps);
}

template <class Card>
std::string lines_text(const Card& card) {
  std::string text = fmt::format("{}", fmt::join(card.lines, ", "));
  if (card.more_lines > 0) text += fmt::format(" and {} more", card.more_lines);
  return text;
}

// "2 APIs wrong (matmul 4 of 4, conv2d 1 of 3)".
std::string wrong_apis(const Answer& answer) {
  std::vector<std::string> names;
  for (const report::WrongApi& api : answer.apis) {
    if (names.size() == kMostApis) break;
    // The name of a call has an index; that of an API gets one here.
    names.push_back(
        fmt::format("{} {} of {}", report::bare_api(api.api + ".0"), api.wrong, api.total));
  }
  if (answer.apis.size() > kMostApis) {
    names.push_back(fmt::format("{} more", answer.apis.size() - kMostApis));
  }
  return fmt::format("{} API{} wrong ({})", answer.apis.size(), answer.apis.size() == 1 ? "" : "s",
                     fmt::join(names, ", "));
}

std::string time_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

// "7 skipped (excluded by the API lists: 6, timed out: 1)".
std::string skipped_text(const Answer& answer) {
  std::size_t all = 0;
  std::vector<std::string> reasons;
  for (const auto& [why, calls] : answer.skipped) {
    all += calls;
    const bool alone = answer.skipped.size() == 1;
    reasons.push_back(alone ? why : fmt::format("{}: {}", why, calls));
  }
  return fmt::format("{} skipped ({})", all, fmt::join(reasons, ", "));
}

// "1 API does not run on the device (lstm, 2 calls)".
std::string raised_apis(const Answer& answer) {
  std::vector<std::string> names;
  for (const report::RaisedApi& api : answer.raised) {
    if (names.size() == kMostApis) break;
    names.push_back(fmt::format("{}, {}", report::bare_api(api.api + ".0"), calls_text(api.calls)));
  }
  if (answer.raised.size() > kMostApis) {
    names.push_back(fmt::format("{} more", answer.raised.size() - kMostApis));
  }
  const bool one = answer.raised.size() == 1;
  return fmt::format("{} API{} not run on the device ({})", answer.raised.size(),
                     one ? " does" : "s do", fmt::join(names, "; "));
}

bool proves_nothing(const Answer& answer) {
  return answer.checked > 0 && answer.inconclusive == answer.checked;
}

std::vector<std::string> findings(const Answer& answer, const Closing& closing) {
  std::size_t wrong = 0;
  for (const report::WrongApi& api : answer.apis) wrong += api.wrong;
  std::vector<std::string> parts;
  if (!answer.raised.empty()) parts.push_back(raised_apis(answer));
  if (wrong > 0) {
    parts.push_back(wrong_apis(answer));
    parts.push_back(fmt::format("{} of {} calls", wrong, answer.checked));
  } else if (answer.checked == 0) {
    parts.emplace_back(answer.raised.empty() ? "nothing checked" : "nothing else checked");
  } else {
    const bool good = !closing.failed && !proves_nothing(answer);
    // What is slightly wrong follows, and counts.
    parts.push_back(fmt::format("{}{} checked{}", good ? "OK. " : "", calls_text(answer.checked),
                                closing.slight > 0 ? "" : ", none wrong"));
  }
  if (closing.slight > 0)
    parts.push_back(fmt::format("{} slightly beyond {} bound", closing.slight,
                                closing.slight == 1 ? "its" : "their"));
  if (answer.inconclusive > 0) {
    const bool one = answer.inconclusive == 1;
    parts.push_back(fmt::format("{} inconclusive ({})", answer.inconclusive,
                                one ? "it proves little" : "they prove little"));
  }
  if (answer.flagged > 0) {
    parts.push_back(fmt::format("{}{} flagged by the documented thresholds only", answer.flagged,
                                wrong > 0 ? " more" : ""));
  }
  if (!answer.skipped.empty()) parts.push_back(skipped_text(answer));
  for (const std::string& part : closing.left_out) parts.push_back(part);
  if (!closing.decided_by.empty()) {
    parts.push_back(fmt::format("{} decides the exit status", closing.decided_by));
  }
  return parts;
}

}  // namespace

std::string finding_text(const Answer& answer, const Closing& closing) {
  return fmt::format("{}", fmt::join(findings(answer, closing), "; "));
}

std::string worst_groups(const ReportRun& run, const Answer& answer, const Style& style) {
  constexpr std::size_t kBetween = 3;
  constexpr std::size_t kFurtherLines = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(answer.raised.size(), kMostGroups); ++i) {
    const report::RaisedApi& api = answer.raised[i];
    const std::array<Field, 4> fields{
        Field{api.api, Paint::kRed}, Field{calls_text(api, answer), Paint::kPlain},
        Field{does_not_run(api.text), Paint::kPlain}, Field{lines_text(api), Paint::kDim}};
    text += flow(fields, kBetween, kFurtherLines, style);
  }
  if (answer.raised.size() > kMostGroups) {
    text += fmt::format("and {} more APIs that do not run\n", answer.raised.size() - kMostGroups);
  }
  for (std::size_t i = 0; i < std::min(answer.cards.size(), kMostGroups); ++i) {
    const CauseCard& card = answer.cards[i];
    const report::ReportRow* row = report::telling_row(run, run.calls[card.worst_call]);
    const std::string cause = row != nullptr                      ? cause_of(*row)
                              : run.calls[card.worst_call].strict ? std::string(kNoPattern)
                                                                  : card.evidence;
    const std::array<Field, 5> fields{
        Field{card.api, card.slight == card.calls ? Paint::kYellow : Paint::kRed},
        Field{calls_text(card, answer), Paint::kPlain},
        Field{bound_text(card.worst), Paint::kPlain}, Field{cause, Paint::kPlain},
        Field{lines_text(card), Paint::kDim}};
    text += flow(fields, kBetween, kFurtherLines, style);
  }
  if (answer.cards.size() > kMostGroups) {
    text += fmt::format("and {} more APIs and causes\n", answer.cards.size() - kMostGroups);
  }
  return text;
}

Closing closing_of(const ReportRun& run) {
  Closing closing;
  for (const report::ReportCall& call : run.calls) {
    const Mark mark = mark_of(call);
    closing.slight += mark == Mark::kWarn ? 1 : 0;
    closing.lost += mark == Mark::kLost ? 1 : 0;
  }
  return closing;
}

std::string closing_text(const Answer& answer, const Closing& closing, const Style& style) {
  const bool wrong = !answer.apis.empty() || !answer.raised.empty() || closing.lost > 0;
  const bool doubtful = closing.failed || proves_nothing(answer);
  const Paint paint = wrong ? Paint::kRed : doubtful ? Paint::kYellow : Paint::kGreen;
  const std::string found = closing.same_as.empty()
                                ? finding_text(answer, closing)
                                : "the same calls and causes as in " + closing.same_as;
  const std::array<Field, 1> said{
      Field{fmt::format("{}: {}; {}", closing.device, found, time_text(closing.seconds)), paint}};
  std::string text = flow(said, 1, 2, style);
  // Not wrapped, so that they can be copied.
  const auto add = [&](std::string_view label, const std::string& value) {
    if (value.empty()) return;
    text += fmt::format("{} {}\n", painted(fmt::format("{:<8}", label), Paint::kDim, style.colour),
                        painted(value, Paint::kPlain, style.colour));
  };
  add("results:", closing.results);
  add("report:", closing.report);
  add("json:", closing.summary);
  add("next:", closing.next);
  return text;
}

}  // namespace msprobe::terminal
