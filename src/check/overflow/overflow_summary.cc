// SPDX-License-Identifier: Apache-2.0
#include "overflow/overflow_summary.h"

#include <fmt/format.h>

#include "core/json_writer.h"
#include "core/visible_text.h"

namespace msprobe::overflow {

OverflowStatus status_of(const OverflowOutcome& outcome, bool fail_on_warning) {
  if (outcome.interrupted || outcome.checked() + outcome.lost == 0)
    return OverflowStatus::kNothingChecked;
  const bool warned = outcome.not_reproduced + outcome.cpu_only > 0;
  const bool failed = outcome.abnormal + outcome.lost > 0 || (warned && fail_on_warning);
  return failed ? OverflowStatus::kFailed : OverflowStatus::kPassed;
}

namespace {

std::string calls(std::size_t count) {
  return count == 1 ? "1 call" : fmt::format("{} calls", count);
}

// What a person wants to know, in one sentence.
std::string answer(const OverflowOutcome& outcome) {
  if (outcome.abnormal > 0) {
    return fmt::format("{} overflow{} on the device although the data do not: look at the device",
                       calls(outcome.abnormal), outcome.abnormal == 1 ? "s" : "");
  }
  if (outcome.normal > 0) {
    return fmt::format(
        "{} overflow{} because of the data, on the CPU too; the device is not at fault",
        calls(outcome.normal), outcome.normal == 1 ? "s" : "");
  }
  if (outcome.cpu_only > 0) {
    return fmt::format("{} overflow{} on the CPU only", calls(outcome.cpu_only),
                       outcome.cpu_only == 1 ? "s" : "");
  }
  return outcome.checked() == 0 ? "nothing was checked" : "no call overflows";
}

}  // namespace

std::string summary_text(const OverflowOutcome& outcome) {
  std::string text = fmt::format("{}: {}\n", outcome.device, answer(outcome));
  text +=
      fmt::format("{}: {} abnormal, {} normal, {} not reproduced, {} on the CPU only, {} skipped\n",
                  outcome.device, outcome.abnormal, outcome.normal, outcome.not_reproduced,
                  outcome.cpu_only, outcome.skipped);
  for (const std::string& name : outcome.abnormal_names) {
    text += fmt::format("  abnormal: {}\n", visible_line(name));
  }
  if (outcome.abnormal > outcome.abnormal_names.size()) {
    text += fmt::format("  and {} more\n", outcome.abnormal - outcome.abnormal_names.size());
  }
  return text;
}

std::string summary_json(const OverflowOutcome& outcome, const std::filesystem::path& csv,
                         int exit_status) {
  JsonWriter json;
  json.begin_object();
  json.key("exit_status").value(exit_status);
  json.key("device").value(outcome.device).key("checked").value(outcome.checked());
  json.key("normal").value(outcome.normal).key("abnormal").value(outcome.abnormal);
  json.key("not_reproduced").value(outcome.not_reproduced).key("cpu_only").value(outcome.cpu_only);
  json.key("skipped").value(outcome.skipped).key("lost").value(outcome.lost);
  json.key("abnormal_names").begin_array();
  for (const std::string& name : outcome.abnormal_names) json.value(name);
  json.end_array();
  json.key("interrupted").value(outcome.interrupted);
  json.key("result_csv").value(csv.string());
  json.end_object();
  return json.text();
}

}  // namespace msprobe::overflow
