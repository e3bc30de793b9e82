// SPDX-License-Identifier: Apache-2.0
#include "sim/session.h"

#include <cstdlib>

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/file.h"

namespace msprobe::sim {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Session& Session::get() {
  static Session session;
  const std::lock_guard lock(session.mutex_);
  if (!session.configured_) {
    const Result<void> set = session.configure({from_environment("MSPROBE_SIM_PROFILE"),
                                                from_environment("MSPROBE_SIM_CONFIG"),
                                                from_environment("MSPROBE_SIM_LOG")});
    TORCH_CHECK(set, "sim: ", set ? "" : set.error().message);
  }
  return session;
}

Result<void> Session::configure(const Setup& setup) {
  const Result<ProfileRow> profile = parse_profile(setup.profile);
  if (!profile) return propagate(profile);
  FaultRules rules;
  if (!setup.config.empty()) {
    const Result<FileBytes> file = load_file(setup.config, std::size_t{1} << 20);
    if (!file) return propagate(file);
    Result<FaultRules> parsed = parse_rules(file->text(), setup.config);
    if (!parsed) return propagate(parsed);
    rules = std::move(*parsed);
  }
  row_ = *profile;
  rules_ = std::move(rules);
  log_ = setup.log;
  configured_ = true;
  return {};
}

void Session::begin_call(std::string_view call) {
  const std::lock_guard lock(mutex_);
  call_ = call;
  operators_ = 0;
}

std::vector<const FaultRule*> Session::struck(const FaultPlace& place) const {
  std::vector<const FaultRule*> rules;
  for (const FaultRule& rule : rules_.rules) {
    if (strikes(rule, rules_.seed, place)) rules.push_back(&rule);
  }
  return rules;
}

std::vector<const FaultRule*> Session::struck_call(bool backward) {
  return struck({call_, {}, backward, 0});
}

std::vector<const FaultRule*> Session::struck_operator(std::string_view name, bool backward) {
  const std::lock_guard lock(mutex_);
  return struck({call_, name, backward, operators_++});
}

void Session::note(std::string_view line) const {
  if (log_.empty()) return;
  const Descriptor file(::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  const std::string text = fmt::format("{}\n", line);
  if (file && ::write(file.get(), text.data(), text.size()) < 0) return;
}

}  // namespace msprobe::sim
