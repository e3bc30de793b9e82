// SPDX-License-Identifier: Apache-2.0
#include "report/changes.h"

#include <string>
#include <unordered_map>

#include "report/answer.h"

namespace msprobe::report {

bool fails(const ReportCall& call, FailOn fail_on) {
  const Standing now = standing(call);
  if (now == Standing::kLost || now == Standing::kRaised) return true;
  return counts_as_failed(fail_on, call.worst(), call.strict);
}

Changes changes_between(const ReportRun& older, const ReportRun& newer, FailOn fail_on) {
  Changes changes;
  std::unordered_map<std::string_view, const ReportCall*> before;
  for (const ReportCall& call : older.calls) before.emplace(call.name, &call);
  for (std::size_t i = 0; i < newer.calls.size(); ++i) {
    const ReportCall& call = newer.calls[i];
    const auto found = before.find(call.name);
    const ReportCall* was = found == before.end() ? nullptr : found->second;
    const bool failed = was != nullptr && fails(*was, fail_on);
    if (was == nullptr) {
      ++changes.only_new;
    } else {
      ++changes.in_both;
      before.erase(found);
    }
    if (fails(call, fail_on)) {
      (failed ? changes.still : changes.appeared).push_back(i);
    } else if (failed && call.worst() != Verdict::kSkip) {
      changes.fixed.push_back(i);
      changes.fixed_in_older.push_back(static_cast<std::size_t>(was - older.calls.data()));
    }
  }
  changes.only_old = before.size();
  for (const auto& [name, call] : before) changes.gone += fails(*call, fail_on) ? 1 : 0;
  return changes;
}

}  // namespace msprobe::report
