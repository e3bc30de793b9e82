// SPDX-License-Identifier: Apache-2.0
#include "sim/fired_rules.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include "core/file.h"
#include "sim/rules.h"

namespace msprobe::sim {
namespace {

std::string text_of(const FaultRule& rule) {
  std::string text(row_of(rule.fault).name);
  const auto add = [&](std::string_view key, const auto& values) {
    if (!values.empty()) text += fmt::format(", {} {}", key, fmt::join(values, " "));
  };
  add("operators", rule.operators);
  add("apis", rule.apis);
  add("dtypes", rule.dtypes);
  add("shape", rule.shape);
  if (rule.min_elements > 0) text += fmt::format(", min_elements {}", rule.min_elements);
  if (!rule.backward) text += ", direction forward";
  if (!rule.forward && rule.fault != Fault::kWrongGradient) text += ", direction backward";
  if (rule.rate < 1) text += fmt::format(", rate {}", rule.rate);
  return text;
}

std::string content(int descriptor) {
  std::string text;
  std::string part(std::size_t{1} << 16, '\0');
  while (true) {
    const auto count =
        ::pread(descriptor, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (count <= 0) return text;
    text.append(part, 0, static_cast<std::size_t>(count));
  }
}

// The last word of a line "fault CALL DIRECTION NAME RULE".
std::set<std::size_t> fired_in(std::string_view log) {
  std::set<std::size_t> fired;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (!line.starts_with("fault\t")) continue;
    const std::string_view word = line.substr(line.rfind('\t') + 1);
    std::size_t number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    fired.insert(number);
  }
  return fired;
}

}  // namespace

FiredRules FiredRules::watch(const std::string& config) {
  FiredRules watched;
  const Result<FileBytes> file = load_file(config);
  if (config.empty() || !file) return watched;
  const Result<FaultRules> rules = parse_rules(file->text(), config);
  if (!rules) return watched;
  for (const FaultRule& rule : rules->rules) watched.rules_.push_back(text_of(rule));
  watched.shown_ = std::filesystem::path(config).filename().string();
  watched.log_ = Descriptor(::memfd_create("msprobe-sim", MFD_CLOEXEC));
  return watched;
}

std::string FiredRules::log() const {
  return log_ ? fmt::format("/proc/{}/fd/{}", ::getpid(), log_.get()) : "";
}

std::vector<std::string> FiredRules::silent() const {
  std::vector<std::string> lines;
  if (!log_) return lines;
  const std::set<std::size_t> fired = fired_in(content(log_.get()));
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (fired.contains(i + 1)) continue;
    lines.push_back(fmt::format("fault {} of {} ({}) never fired", i + 1, shown_, rules_[i]));
  }
  return lines;
}

}  // namespace msprobe::sim
