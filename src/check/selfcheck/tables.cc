// SPDX-License-Identifier: Apache-2.0
#include "selfcheck/tables.h"

#include <map>

#include <fmt/format.h>

#include "core/json_writer.h"

namespace msprobe::selfcheck {
namespace {

std::string percent(std::size_t part, std::size_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string_view promise_text(Promise promise) {
  constexpr std::string_view kTexts[] = {"silence", "alarm", "-"};
  return kTexts[static_cast<std::size_t>(promise)];
}

void write_exceptions(JsonWriter& json, std::string_view key, const std::vector<Exception>& list) {
  json.key(key).begin_array();
  for (const Exception& item : list) {
    json.begin_object().key("row").value(item.row).key("text").value(item.text).end_object();
  }
  json.end_array();
}

}  // namespace

Table score_table(const SelfCheckOutcome& outcome) {
  Table table{{"device", "promised", "changed results", "documented ladder",
               "api_precision_compare", "strict status", "cause right", "false alarms"},
              {}};
  for (const Score& score : outcome.scores) {
    table.rows.push_back(
        {score.scenario.name, std::string(promise_text(score.scenario.promise)),
         fmt::format("{}", score.injections), percent(score.documented, score.injections),
         percent(score.compared, score.injections), percent(score.strict, score.injections),
         score.graded == 0 ? "-" : fmt::format("{} of {}", score.right, score.graded),
         fmt::format("{} of {}", score.alarms, score.rows)});
  }
  return table;
}

Table cause_table(const SelfCheckOutcome& outcome) {
  std::map<std::string, std::map<std::string, std::size_t>> confusion;
  std::map<std::string, std::size_t> named;
  for (const Score& score : outcome.scores) {
    if (!score.scenario.cause) continue;
    for (const auto& [cause, count] : score.named) {
      confusion[std::string(name(*score.scenario.cause))][cause] += count;
      named[cause] += count;
    }
  }
  Table table{{"injected \\ named"}, {}};
  for (const auto& [cause, count] : named) table.titles.push_back(cause);
  table.titles.emplace_back("right");
  for (const auto& [injected, row] : confusion) {
    std::vector<std::string> cells{injected};
    std::size_t all = 0;
    for (const auto& [cause, count] : named) {
      const auto found = row.find(cause);
      const std::size_t here = found == row.end() ? 0 : found->second;
      cells.push_back(here == 0 ? "" : fmt::format("{}", here));
      all += here;
    }
    const auto right = row.find(injected);
    cells.push_back(percent(right == row.end() ? 0 : right->second, all));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::vector<std::string> exceptions(const SelfCheckOutcome& outcome) {
  std::vector<std::string> lines;
  for (const Score& score : outcome.scores) {
    for (const Exception& item : score.false_alarms) {
      lines.push_back(
          fmt::format("{}: false alarm at {}: {}", score.scenario.name, item.row, item.text));
    }
    if (score.scenario.promise != Promise::kAlarm) continue;
    for (const Exception& item : score.escapes) {
      lines.push_back(
          fmt::format("{}: escaped at {}: {}", score.scenario.name, item.row, item.text));
    }
  }
  return lines;
}

std::string markdown(const Table& table) {
  std::string text = fmt::format("| {} |\n|", fmt::join(table.titles, " | "));
  for (std::size_t i = 0; i < table.titles.size(); ++i) text += "---|";
  text += "\n";
  for (const auto& row : table.rows) text += fmt::format("| {} |\n", fmt::join(row, " | "));
  return text;
}

std::string markdown(const SelfCheckOutcome& outcome) {
  std::string text = markdown(score_table(outcome)) + "\n" + markdown(cause_table(outcome));
  const std::vector<std::string> lines = exceptions(outcome);
  text += fmt::format("\nEscapes and false alarms: {}\n\n", lines.empty() ? "none" : "");
  for (const std::string& line : lines) text += fmt::format("* {}\n", line);
  return text;
}

std::string json(const SelfCheckOutcome& outcome) {
  JsonWriter json;
  json.begin_object().key("calls").value(outcome.calls).key("scenarios").begin_array();
  for (const Score& score : outcome.scores) {
    json.begin_object().key("name").value(score.scenario.name);
    json.key("group").value(score.scenario.group);
    json.key("promised").value(promise_text(score.scenario.promise));
    json.key("kept").value(score.as_promised()).key("changed").value(score.injections);
    json.key("documented").value(score.documented).key("compared").value(score.compared);
    json.key("strict").value(score.strict);
    json.key("rows_unchanged").value(score.rows).key("false_alarms").value(score.alarms);
    json.key("documented_alarms").value(score.documented_alarms);
    if (score.scenario.cause) json.key("cause").value(name(*score.scenario.cause));
    json.key("graded").value(score.graded).key("right").value(score.right);
    json.key("named").begin_object();
    for (const auto& [cause, count] : score.named) json.key(cause).value(count);
    json.end_object();
    write_exceptions(json, "escapes", score.escapes);
    write_exceptions(json, "alarms", score.false_alarms);
    write_exceptions(json, "misnamed", score.misnamed);
    json.end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace msprobe::selfcheck
