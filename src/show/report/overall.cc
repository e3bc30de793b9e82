// SPDX-License-Identifier: Apache-2.0
#include "report/overall.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace msprobe::report {
namespace {

void append(ReportRun& all, const ReportRun& run) {
  const std::size_t rows = all.rows.size();
  const auto stacks = static_cast<std::uint32_t>(all.stacks.size());
  all.rows.insert(all.rows.end(), run.rows.begin(), run.rows.end());
  all.stacks.insert(all.stacks.end(), run.stacks.begin(), run.stacks.end());
  for (ReportCall call : run.calls) {
    call.first_row += rows;
    if (call.stack) *call.stack += stacks;
    all.calls.push_back(std::move(call));
  }
  for (const auto& [api, calls] : run.passed_apis) all.passed_apis[api] += calls;
}

}  // namespace

Overall overall_of(const std::vector<const ReportRun*>& runs) {
  Overall overall;
  std::map<std::pair<std::string, std::string>, std::size_t> dumps_of_card;
  std::map<std::string, std::size_t> dumps_of_raised;
  for (const ReportRun* run : runs) {
    append(overall.run, *run);
    const Answer answer = answer_of(*run);
    for (const CauseCard& card : answer.cards) ++dumps_of_card[{card.api, card.cause}];
    for (const RaisedApi& api : answer.raised) ++dumps_of_raised[api.api];
  }
  // Limits are those of each run.
  for (ReportRow& row : overall.run.rows) row.limits = 0;
  overall.answer = answer_of(overall.run);
  overall.answer.dumps = runs.size();
  for (CauseCard& card : overall.answer.cards) card.dumps = dumps_of_card[{card.api, card.cause}];
  for (RaisedApi& api : overall.answer.raised) api.dumps = dumps_of_raised[api.api];
  return overall;
}

}  // namespace msprobe::report
