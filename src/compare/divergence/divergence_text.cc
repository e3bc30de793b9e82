// SPDX-License-Identifier: Apache-2.0
// A divergence as text for the terminal and as JSON.
#include <cmath>

#include <fmt/format.h>

#include "divergence/first_divergence.h"

namespace msprobe::divergence {
namespace {

std::string percent(double difference) {
  if (difference == 0) return "0 %";
  if (std::isinf(difference)) return "without bound";
  const double value = difference * 100;
  if (value < 0.01) return fmt::format("{:.1e} %", value);
  return fmt::format("{:.3g} %", value);
}

// "differs by 12 %"; checksums have no size.
std::string by_how_much(double difference, bool exact) {
  return exact ? "has another checksum" : "differs by " + percent(difference);
}

std::string_view name(Cause cause) {
  switch (cause) {
    case Cause::kOutside:
      return "outside";
    case Cause::kUnmatched:
      return "target_only";
    case Cause::kUninitialised:
      return "uninitialised";
    case Cause::kGrowth:
      return "growth";
    case Cause::kCall:
      break;
  }
  return "introduces";
}

std::string sentence(const Divergence& found, bool say_rank, bool exact) {
  const std::string where = say_rank ? fmt::format(" on rank {}", found.rank) : std::string();
  const std::string output = by_how_much(found.output_difference, exact);
  switch (found.cause) {
    case Cause::kOutside:
      return fmt::format(
          "The runs diverge{} at an input: {} {}, and no recorded call made it (a weight, a batch, "
          "or a call that was not recorded)",
          where, found.item, by_how_much(found.input_difference, exact));
    case Cause::kUnmatched:
      return fmt::format("The runs diverge{} in calls that only the target has, at {}: {} {}",
                         where, found.target, found.item,
                         by_how_much(found.input_difference, exact));
    case Cause::kUninitialised:
      return fmt::format("The runs diverge{} at {}: its uninitialised memory is used as {}", where,
                         found.target, found.item);
    case Cause::kGrowth:
      return fmt::format(
          "The runs drift apart{}: no single call introduces the first difference; small "
          "differences add up and exceed the tolerance at {} (inputs {}, outputs {})",
          where, found.target, percent(found.input_difference), percent(found.output_difference));
    case Cause::kCall:
      break;
  }
  const std::string inputs =
      exact || found.input_difference == 0
          ? std::string("its inputs are equal")
          : fmt::format("its inputs agree (to {})", percent(found.input_difference));
  return fmt::format("The runs diverge{} at {}: {}, {} {}", where, found.target, inputs, found.item,
                     output);
}

// Calls that seem to introduce a difference that rounding explains.
std::size_t doubtful_calls(const DivergenceReport& report) {
  std::size_t count = 0;
  for (const RankResult& result : report.per_rank) {
    for (const CallRole& role : result.classified.roles) {
      count += role.role == Role::kIntroduces && role.doubtful ? 1 : 0;
    }
  }
  return count;
}

void write_text(JsonWriter& json, std::string_view key, const std::string& text) {
  json.key(key);
  if (text.empty()) {
    json.null();
  } else {
    json.value(text);
  }
}

void write_one(const Divergence& found, JsonWriter& json) {
  json.begin_object();
  write_text(json, "target", found.target);
  write_text(json, "golden", found.golden);
  json.key("rank").value(found.rank);
  json.key("cause").value(name(found.cause));
  write_text(json, "item", found.item);
  write_text(json, "seen_at", found.seen.empty() ? found.target : found.seen);
  json.key("input_difference").value(found.input_difference);
  json.key("output_difference").value(found.output_difference);
  write_text(json, "arguments", found.arguments);
  write_text(json, "module", found.module);
  write_text(json, "source", found.source);
  write_text(json, "rerun", found.rerun);
  json.key("stack_info").begin_array();
  for (const std::string& frame : found.stack) json.value(frame);
  json.end_array();
  json.end_object();
}

}  // namespace

std::string describe(const DivergenceReport& report) {
  if (report.calls == 0 || report.calls == report.target_only) {
    return "The two runs have no call in common.\n";
  }
  const std::size_t doubtful = doubtful_calls(report);
  std::string text;
  if (report.first) {
    const Divergence& first = *report.first;
    text = sentence(first, report.rank_count > 1, report.exact) + ".\n";
    const auto line = [&text](std::string_view title, const std::string& value) {
      if (!value.empty()) text += fmt::format("  {:<10}{}\n", title, value);
    };
    if (first.golden != first.target) line("golden", first.golden);
    line("arguments", first.arguments);
    line("module", first.module);
    line("source", first.source);
    line("replay", first.rerun);
  } else {
    text = fmt::format("The runs agree: {} of {} calls were compared, and no output {}.\n",
                       report.calls - report.target_only, report.calls,
                       report.exact   ? "has another checksum"
                       : doubtful > 0 ? "differs by more than rounding explains"
                                      : "differs beyond the tolerance");
  }
  text += fmt::format("{} calls: {} agree", report.calls, report.agreeing);
  const auto part = [&text](std::size_t count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  const std::size_t introducing = report.introducing - doubtful;
  const bool further = report.first && report.first->cause == Cause::kGrowth;
  part(introducing, fmt::format("{} a {}difference", introducing == 1 ? "introduces" : "introduce",
                                further ? "further " : ""));
  part(doubtful, doubtful == 1 ? "differs within rounding" : "differ within rounding");
  part(report.inheriting, report.inheriting == 1 ? "inherits one" : "inherit one");
  part(report.target_only, "only in the target");
  part(report.golden_only, "only in the golden run");
  part(report.renamed, "renamed");
  part(report.again, "computed again");
  return text + ".\n";
}

void write_json(const DivergenceReport& report, JsonWriter& json) {
  json.key("first_divergence");
  if (report.first) {
    write_one(*report.first, json);
  } else {
    json.null();
  }
  json.key("divergence").begin_object();
  json.key("calls").value(report.calls);
  json.key("agree").value(report.agreeing);
  json.key("introduce").value(report.introducing);
  json.key("inherit").value(report.inheriting);
  json.key("target_only").value(report.target_only);
  json.key("golden_only").value(report.golden_only);
  json.key("renamed").value(report.renamed);
  json.key("computed_again").value(report.again);
  json.key("origin_count").value(report.origin_count);
  json.key("judged").begin_array();
  for (const DifferingCall& call : report.judged) {
    json.begin_object();
    json.key("rank").value(call.rank);
    write_text(json, "target", call.target);
    write_text(json, "golden", call.golden);
    json.key("role").value(call.role == Role::kIntroduces ? "introduces" : "inherits");
    json.end_object();
  }
  json.end_array();
  json.key("origins").begin_array();
  for (const Divergence& origin : report.origins) write_one(origin, json);
  json.end_array();
  json.end_object();
}

}  // namespace msprobe::divergence
