// SPDX-License-Identifier: Apache-2.0
#include "report/answer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "tables/number_text.h"

namespace msprobe::report {
namespace {

// Why a call was not checked, in plain words.
constexpr auto kSkipWords = std::to_array<std::pair<SkipReason, std::string_view>>({
    {SkipReason::kNotSupported, "not supported"},
    {SkipReason::kFiltered, "excluded by the API lists"},
    {SkipReason::kUnknownApi, "API not in this PyTorch"},
    {SkipReason::kNoBench, "no CPU benchmark"},
    {SkipReason::kUnknownDType, "unknown dtype"},
    {SkipReason::kArgument, "an argument cannot be rebuilt"},
    {SkipReason::kNoStatistics, "no recorded minimum and maximum"},
    {SkipReason::kBind, "arguments fit no signature"},
    {SkipReason::kBenchFailed, "the benchmark raised an error"},
    {SkipReason::kNotOnDevice, "not on the device: its back end left it to the CPU"},
    {SkipReason::kNothingRecorded, "no recorded output"},
    {SkipReason::kBrokenRecord, "broken entry in the dump"},
    {SkipReason::kBrokenData, "broken tensor file"},
    {SkipReason::kMissingData, "missing tensor file"},
    {SkipReason::kHostile, "unsafe name, or file outside the dump"},
    {SkipReason::kReferenceFailed, "the reference failed"},
    {SkipReason::kOutOfMemory, "out of memory"},
    {SkipReason::kCrashed, "the engine crashed"},
    {SkipReason::kTimedOut, "timed out"},
});

std::string skip_words(const ReportRun& run, const ReportCall& call) {
  const bool by_row = call.message.empty() && call.row_count > 0;
  const SkipReason reason = by_row ? run.rows[call.first_row].skip : call.skip;
  const auto found =
      std::ranges::find(kSkipWords, reason, &std::pair<SkipReason, std::string_view>::first);
  return found == kSkipWords.end() ? "nothing to compare" : std::string(found->second);
}

// NaN and infinities first, then by size; no number sorts below every number.
double rank(double over_bound) {
  return std::isnan(over_bound) ? std::numeric_limits<double>::infinity() : over_bound;
}

template <class Card>
void add_line(Card& card, std::string line) {
  if (line.empty() || std::ranges::find(card.lines, line) != card.lines.end()) return;
  card.lines.push_back(std::move(line));
}

template <class Card>
void keep_first_lines(Card& card) {
  if (card.lines.size() <= CauseCard::kMostLines) return;
  card.more_lines = card.lines.size() - CauseCard::kMostLines;
  card.lines.resize(CauseCard::kMostLines);
}

using Key = std::pair<std::string, std::string>;  // API and name of the cause

void add_to_card(std::map<Key, CauseCard>& cards, const ReportRun& run, std::size_t index,
                 Standing now) {
  const ReportCall& call = run.calls[index];
  const std::string cause = cause_name(run, call);
  CauseCard& card = cards[{call.api, cause}];
  const double size = worst_over_bound(run, call);
  if (card.calls == 0 || rank(size) > rank(card.worst)) {
    card.worst = size;
    card.worst_call = index;
    card.evidence = cause_text(run, call);
  }
  card.api = call.api;
  card.cause = cause;
  ++card.calls;
  card.slight += now == Standing::kSlight ? 1 : 0;
  add_line(card, source_line(run, call));
}

void add_raised(std::map<std::string, RaisedApi>& apis, const ReportRun& run, std::size_t index) {
  const ReportCall& call = run.calls[index];
  RaisedApi& api = apis[call.api];
  if (api.calls == 0) {
    api.api = call.api;
    api.text = why(run, call);
    api.first_call = index;
  }
  ++api.calls;
  add_line(api, source_line(run, call));
}

}  // namespace

Standing standing(const ReportCall& call) {
  const Verdict documented = call.worst();
  // The message is that of the direction that was not checked.
  const bool partly = call.forward == Verdict::kSkip || call.backward == Verdict::kSkip;
  if (partly && is_raised(call.skip)) return Standing::kRaised;
  const Verdict decisive = call.strict.value_or(documented);
  if (decisive == Verdict::kError) return Standing::kWrong;
  if (decisive == Verdict::kWarning) return Standing::kSlight;
  if (partly && is_lost(call.skip)) return Standing::kLost;
  if (decisive == Verdict::kSkip && documented == Verdict::kSkip) return Standing::kSkipped;
  if (decisive == Verdict::kInconclusive) return Standing::kInconclusive;
  return is_alarm(documented) ? Standing::kDocumentedOnly : Standing::kPass;
}

std::string_view name(Standing standing) {
  static constexpr std::array<std::string_view, kStandings> kNames = {
      "wrong",  "slightly wrong", "documented thresholds only", "pass", "skipped", "lost",
      "raised", "inconclusive"};
  return kNames[static_cast<std::size_t>(standing)];
}

double worst_over_bound(const ReportRun& run, const ReportCall& call) {
  double worst = kNoNumber;
  for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
    // Of a wrong call only what is wrong: another dtype has no such number.
    if (is_alarm(call.strict) && !is_alarm(run.rows[i].strict)) continue;
    const double size = run.rows[i].error_over_bound;
    if (rank(size) > rank(worst)) worst = size;
  }
  return worst;
}

std::string cause_name(const ReportRun& run, const ReportCall& call) {
  const ReportRow* row = telling_row(run, call);
  if (row == nullptr) return {};
  const std::string_view cause = row->likely_cause;
  return std::string(tables::trim(cause.substr(0, cause.find_first_of(":;"))));
}

std::string cause_text(const ReportRun& run, const ReportCall& call) {
  const ReportRow* row = telling_row(run, call);
  const bool bare = row != nullptr && row->likely_cause.find_first_of(":;") == std::string::npos;
  if (!bare || row->strict_reason.empty()) return why(run, call);
  return row->likely_cause + ": " + row->strict_reason;
}

std::string source_line(const ReportRun& run, const ReportCall& call) {
  if (!call.site.line.empty()) {
    return std::filesystem::path(call.site.line).filename().string();
  }
  const StackFrame* frame = call.stack ? own_frame(run.stacks[*call.stack]) : nullptr;
  if (frame == nullptr) return {};
  return fmt::format("{}:{}", std::filesystem::path(frame->file).filename().string(), frame->line);
}

Answer answer_of(const ReportRun& run) {
  Answer answer;
  std::map<Key, CauseCard> cards;
  std::map<std::string_view, std::size_t> judged;
  for (const auto& [api, calls] : run.passed_apis) {
    answer.checked += calls;
    judged[api] += calls;
  }
  std::map<std::string, std::size_t> skipped;
  std::map<std::string, RaisedApi> raised;
  for (std::size_t i = 0; i < run.calls.size(); ++i) {
    const Standing now = standing(run.calls[i]);
    if (now == Standing::kSkipped || now == Standing::kLost) {
      ++skipped[skip_words(run, run.calls[i])];
      continue;
    }
    if (now == Standing::kRaised) {
      add_raised(raised, run, i);
      continue;
    }
    ++answer.checked;
    answer.inconclusive += now == Standing::kInconclusive ? 1 : 0;
    answer.flagged += now == Standing::kDocumentedOnly ? 1 : 0;
    ++judged[run.calls[i].api];
    if (now == Standing::kWrong || now == Standing::kSlight) add_to_card(cards, run, i, now);
  }
  for (auto& [name, api] : raised) keep_first_lines(api);
  for (auto& [key, card] : cards) keep_first_lines(card);
  std::map<std::string, WrongApi> apis;
  std::map<std::string, std::size_t> most;  // wrong calls of the cause that is named
  for (auto& [key, card] : cards) {
    const std::size_t wrong = card.calls - card.slight;
    if (wrong > 0) {
      WrongApi& api = apis[card.api];
      api.api = card.api;
      api.wrong += wrong;
      api.total = judged[card.api];
      if (wrong > std::exchange(most[card.api], std::max(most[card.api], wrong))) {
        api.cause = card.cause;
      }
    }
    answer.cards.push_back(std::move(card));
  }
  for (auto& [name, api] : apis) answer.apis.push_back(std::move(api));
  for (auto& [name, api] : raised) answer.raised.push_back(std::move(api));
  answer.skipped.assign(skipped.begin(), skipped.end());
  std::ranges::stable_sort(answer.apis, std::greater(), &WrongApi::wrong);
  std::ranges::stable_sort(answer.raised, std::greater(), &RaisedApi::calls);
  std::ranges::stable_sort(answer.skipped, std::greater(),
                           [](const auto& item) { return item.second; });
  std::ranges::stable_sort(answer.cards, [](const CauseCard& one, const CauseCard& other) {
    const bool one_wrong = one.slight < one.calls;
    const bool other_wrong = other.slight < other.calls;
    if (one_wrong != other_wrong) return one_wrong;
    return rank(one.worst) > rank(other.worst);
  });
  return answer;
}

}  // namespace msprobe::report
