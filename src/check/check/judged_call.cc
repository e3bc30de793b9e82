// SPDX-License-Identifier: Apache-2.0
#include "check/judged_call.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "documented/judge.h"
#include "documented/result_row.h"
#include "documented/skip_message.h"

namespace msprobe::check {
namespace {

using documented::DetailRow;
using documented::Profile;
using protocol::LeafKind;
using protocol::MeasuredCall;
using protocol::MeasuredLeaf;

constexpr std::string_view kUnexpectedList =
    "Unexpected output type in compare_core: <class 'list'>";

bool is_nested(const MeasuredLeaf& leaf) { return leaf.path.find('.') != std::string::npos; }

std::string_view top_of(const MeasuredLeaf& leaf) {
  return std::string_view(leaf.path).substr(0, leaf.path.find('.'));
}

// What the public tool makes of a list inside the outputs: one error, whatever it holds. Gradients
// of keyword arguments it does not look at.
std::vector<MeasuredLeaf> as_public_tool_sees(const std::vector<MeasuredLeaf>& leaves) {
  std::vector<MeasuredLeaf> seen;
  for (const MeasuredLeaf& leaf : leaves) {
    if (leaf.of_keyword) continue;
    const bool repeated = is_nested(leaf) && !seen.empty() && is_nested(seen.back()) &&
                          top_of(seen.back()) == top_of(leaf);
    if (!repeated) seen.push_back(leaf);
  }
  return seen;
}

void add_strict(const MeasuredLeaf& leaf, DetailRow& row) {
  if (!leaf.strict) return;
  row.strict_status = leaf.strict->status;
  row.strict_reason = leaf.strict->reason;
  row.likely_cause = leaf.strict->cause;
  row.error_map = leaf.strict->map;
  row.explanation = leaf.strict->explanation;
  row.error_over_bound = leaf.strict->error_over_bound;
}

// With the message of its row as text.
Skip as_shown(const Skip& skip) { return {skip.reason, documented::skip_message(skip)}; }

// A row that says why nothing was compared says it for the strict status too.
void add_strict_skip(DetailRow& row, const JudgeRules& rules) {
  if (rules.profile == Profile::kDocumented) row.strict_status = Verdict::kSkip;
}

std::optional<Verdict> worst_strict(const std::vector<DetailRow>& rows) {
  std::optional<Verdict> worst;
  for (const DetailRow& row : rows) {
    if (row.strict_status) worst = worst ? worse(*worst, *row.strict_status) : *row.strict_status;
  }
  return worst;
}

std::vector<DetailRow> judge_leaves(const std::vector<MeasuredLeaf>& leaves,
                                    const ops::NamedCall& named, std::string_view direction,
                                    bool float8_input, const JudgeRules& rules) {
  std::vector<DetailRow> rows;
  rows.reserve(leaves.size());
  for (const MeasuredLeaf& leaf : leaves) {
    const std::string row_name =
        fmt::format("{}.{}.output.{}", named.full_name, direction, rows.size());
    const documented::Context context{.row_name = row_name,
                                      .api = named.api,
                                      .device = rules.device_kind,
                                      .float8_input = float8_input,
                                      .profile = rules.profile,
                                      .standards = rules.standards};
    const bool list = rules.profile == Profile::kReference && is_nested(leaf);
    rows.push_back(list ? documented::reason_row(row_name, Verdict::kError, kUnexpectedList)
                        : rules.dialect->judge_leaf(leaf, context));
    if (rules.profile == Profile::kDocumented) add_strict(leaf, rows.back());
  }
  return rows;
}

// The public tool has nothing of the kind: profile documented only.
void add_note(std::vector<DetailRow>& rows, std::string_view note, const JudgeRules& rules) {
  if (note.empty() || rows.empty() || rules.profile != Profile::kDocumented) return;
  documented::add_sentence(rows.front().message, note);
}

// Rows that do not pass carry the command that runs their call alone.
void add_rerun(std::vector<DetailRow>& rows, std::string_view full_name, const JudgeRules& rules) {
  if (rules.profile != Profile::kDocumented || rules.rerun.empty()) return;
  for (DetailRow& row : rows) {
    if (row.status != Verdict::kPass || is_alarm(row.strict_status)) {
      row.rerun_command = rules.rerun.text_for(full_name);
    }
  }
}

bool device_lacks_outputs(const MeasuredCall& call) {
  const auto lacks = [](const MeasuredLeaf& leaf) {
    return leaf.kind == LeafKind::kDeviceMissing && !is_nested(leaf);
  };
  return std::ranges::any_of(call.forward, lacks) || std::ranges::any_of(call.backward, lacks);
}

}  // namespace

JudgedCall skip_call(std::string_view full_name, const Skip& why, const JudgeRules& rules) {
  documented::SkippedCall skipped = documented::skipped_call(full_name, why);
  JudgedCall judged{{std::move(skipped.detail)}, std::move(skipped.result)};
  add_strict_skip(judged.details.front(), rules);
  judged.result.strict = worst_strict(judged.details);
  add_rerun(judged.details, full_name, rules);
  return judged;
}

JudgedCall judge_call(const MeasuredCall& call, const ops::NamedCall& named,
                      const JudgeRules& rules) {
  const std::string_view full_name = named.full_name;
  if (call.skip) return skip_call(full_name, as_shown(*call.skip), rules);
  const bool reference = rules.profile == Profile::kReference;
  // The public tool stumbles over it, and skips the call.
  if (reference && device_lacks_outputs(call)) {
    return skip_call(full_name, {SkipReason::kNone, "list index out of range"}, rules);
  }
  const auto leaves = [&](const std::vector<MeasuredLeaf>& all) {
    return reference ? as_public_tool_sees(all) : all;
  };
  JudgedCall judged;
  judged.details = judge_leaves(leaves(call.forward), named, "forward", call.float8_input, rules);
  std::vector<DetailRow> backward =
      judge_leaves(leaves(call.backward), named, "backward", call.float8_input, rules);
  if (call.backward_skip) {
    backward = {documented::skip_row(fmt::format("{}.backward.output.0", full_name),
                                     as_shown(*call.backward_skip))};
    add_strict_skip(backward.front(), rules);
  }
  add_note(judged.details, call.note, rules);
  add_note(backward, call.backward_note, rules);
  judged.result = rules.dialect->conclude(full_name, judged.details, backward, rules.profile,
                                          call.backward_skip.has_value());
  if (rules.dialect->has_no_details(named, rules.profile)) {
    judged.details.clear();
    return judged;
  }
  std::ranges::move(backward, std::back_inserter(judged.details));
  judged.result.strict = worst_strict(judged.details);
  add_rerun(judged.details, full_name, rules);
  return judged;
}

}  // namespace msprobe::check
