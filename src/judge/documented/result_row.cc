// SPDX-License-Identifier: Apache-2.0
#include "documented/result_row.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "documented/judge.h"

namespace msprobe::documented {
namespace {

std::optional<Verdict> worst(std::span<const Verdict> rows) {
  const auto any = [&](Verdict wanted) { return std::ranges::find(rows, wanted) != rows.end(); };
  if (any(Verdict::kError)) return Verdict::kError;
  if (any(Verdict::kWarning)) return Verdict::kWarning;
  return any(Verdict::kPass) ? Verdict::kPass : Verdict::kSkip;
}

Verdict last_failure(std::span<const Verdict> rows) {
  Verdict verdict = Verdict::kPass;
  for (const Verdict row : rows) {
    if (row == Verdict::kError || row == Verdict::kWarning) verdict = row;
  }
  return verdict;
}

std::optional<Verdict> fold_rows(std::span<const DetailRow> rows, Profile profile) {
  std::vector<Verdict> verdicts;
  verdicts.reserve(rows.size());
  for (const DetailRow& row : rows) verdicts.push_back(row.status);
  return fold(verdicts, profile);
}

constexpr std::size_t kNamedFailures = 3;  // in the message of a call; the details have them all

// "forward output 0: Cosine similarity is less than 0.99, consider as error."
std::string failures_of(std::span<const DetailRow> forward, std::span<const DetailRow> backward) {
  std::string text;
  std::size_t failures = 0;
  for (const auto& [rows, direction] :
       {std::pair(forward, "forward"), std::pair(backward, "backward")}) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool failed = rows[i].status == Verdict::kError || rows[i].status == Verdict::kWarning;
      if (!failed || ++failures > kNamedFailures) continue;
      add_sentence(text, fmt::format("{} output {}: {}", direction, i, rows[i].message));
    }
  }
  if (failures > kNamedFailures) {
    add_sentence(text, fmt::format("{} more outputs fail.", failures - kNamedFailures));
  }
  return text;
}

}  // namespace

std::optional<Verdict> fold(std::span<const Verdict> rows, Profile profile) {
  if (rows.empty()) return std::nullopt;
  return profile == Profile::kDocumented ? worst(rows) : last_failure(rows);
}

ResultRow conclude(std::string_view api_name, std::span<const DetailRow> forward,
                   std::span<const DetailRow> backward, Profile profile, bool backward_skipped) {
  ResultRow result{.api_name = std::string(api_name),
                   .forward = fold_rows(forward, profile),
                   .backward = fold_rows(backward, profile),
                   .message = {}};
  if (backward_skipped) result.backward = Verdict::kSkip;
  const DetailRow* skipped = nullptr;
  if (result.forward == Verdict::kSkip) {
    skipped = &forward.front();
  } else if (result.backward == Verdict::kSkip && !backward.empty()) {
    skipped = &backward.front();
  }
  if (skipped != nullptr) {
    result.message = skipped->message;
    result.skip = skipped->skip;
  }
  if (profile == Profile::kDocumented) add_sentence(result.message, failures_of(forward, backward));
  return result;
}

SkippedCall skipped_call(std::string_view api_name, const Skip& why) {
  return {.detail = skip_row(std::string(api_name) + ".forward.output.0", why),
          .result = {.api_name = std::string(api_name),
                     .forward = Verdict::kSkip,
                     .backward = Verdict::kSkip,
                     .message = why.text,
                     .skip = why.reason}};
}

}  // namespace msprobe::documented
