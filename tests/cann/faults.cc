// SPDX-License-Identifier: Apache-2.0
// The switches of the stand-in, all in the environment.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "stand_in.h"

namespace cann {
namespace {

struct Rule {
  std::string name;
  Fault fault;
  int only;  // the one execution in this process that it is about; 0: all
};

struct KindName {
  std::string_view name;
  Fault::Kind kind;
  double value;
};
constexpr KindName kKinds[] = {
    {"scale", Fault::Kind::kScale, 1.001},
    {"bfloat16", Fault::Kind::kBfloat16, 0},
    {"last_eighth", Fault::Kind::kLastEighth, 0},
    {"refuse", Fault::Kind::kRefuse, 561103},
    {"error", Fault::Kind::kError, 507011},
    {"sticky", Fault::Kind::kSticky, 507015},
    {"crash", Fault::Kind::kCrash, 0},
    {"hang", Fault::Kind::kHang, 0},
};

[[noreturn]] void refuse(std::string_view rule) {
  std::fprintf(stderr,
               "MSPROBE_CANN_FAULTS: '%.*s' is not NAME=KIND[:VALUE][@N] (tests/cann/README.md)\n",
               static_cast<int>(rule.size()), rule.data());
  std::_Exit(3);
}

double number(std::string_view text, std::string_view rule) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(rule);
  return value;
}

Rule read_rule(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse(text);
  std::string_view kind = text.substr(equals + 1);
  Rule rule{std::string(text.substr(0, equals)), {}, 0};
  if (const std::size_t at = kind.find('@'); at != std::string_view::npos) {
    rule.only = static_cast<int>(number(kind.substr(at + 1), text));
    kind = kind.substr(0, at);
  }
  std::string_view value;
  if (const std::size_t colon = kind.find(':'); colon != std::string_view::npos) {
    value = kind.substr(colon + 1);
    kind = kind.substr(0, colon);
  }
  for (const KindName& known : kKinds) {
    if (known.name != kind) continue;
    rule.fault = {known.kind, value.empty() ? known.value : number(value, text)};
    return rule;
  }
  refuse(text);
}

std::vector<Rule> read_rules() {
  std::vector<Rule> rules;
  const std::string all = setting("MSPROBE_CANN_FAULTS", "");
  std::string_view rest = all;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (comma > 0) rules.push_back(read_rule(rest.substr(0, comma)));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return rules;
}

}  // namespace

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

Fault fault_of(std::string_view name) {
  static const auto& rules = *new std::vector<Rule>(read_rules());
  static auto& counts = *new std::map<std::string, int, std::less<>>;
  static auto& mutex = *new std::mutex;
  if (rules.empty()) return {};
  const std::lock_guard lock(mutex);
  int& count = counts.try_emplace(std::string(name), 0).first->second;
  ++count;
  for (const Rule& rule : rules) {
    if (rule.name == name && (rule.only == 0 || rule.only == count)) return rule.fault;
  }
  return {};
}

void note(std::string_view line) {
  static const int file = [] {
    const std::string path = setting("MSPROBE_CANN_LOG", "");
    return path.empty() ? -1
                        : ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }();
  if (file < 0) return;
  const std::string whole = std::string(line) + "\n";
  [[maybe_unused]] const auto written = ::write(file, whole.data(), whole.size());
}

}  // namespace cann
