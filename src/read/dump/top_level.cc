// SPDX-License-Identifier: Apache-2.0
#include "dump/top_level.h"

#include <algorithm>

#include <fmt/format.h>

#include "dump/json_scalar.h"

namespace msprobe::dump {

std::size_t TopLevel::find_key(std::string_view key) {
  return static_cast<std::size_t>(std::ranges::find(kTopKeys, key) - kTopKeys.begin());
}

Failure TopLevel::no_data() const {
  return fail(ErrorKind::kFormat, fmt::format("{}: Invalid dump.json format: something wrong with "
                                              "dump, no data found in dump.json",
                                              name_));
}

Result<std::size_t> TopLevel::read_header(const Member& member, TopKey key) {
  const Result<std::size_t> end = walk_.value_end(member.value_at, member.key);
  if (!end) return end;
  const Result<std::string> text =
      header_text(member, *end, key == kFramework || key == kJitCompile || key == kVersion);
  if (!text) return propagate(text);
  if (key == kTask) header_.task = *text;
  if (key == kLevel) header_.level = *text;
  if (key == kFramework) header_.framework = *text;
  if (key == kDirectory) header_.dump_data_dir = *text;
  if (key == kVersion) header_.framework_version = *text;
  if (key == kJitCompile && (text == "true" || text == "false")) {
    header_.jit_compile = text == "true";
  }
  return end;
}

// A string, or nothing for null. `lenient` takes any other value as it is written.
Result<std::string> TopLevel::header_text(const Member& member, std::size_t end,
                                          bool lenient) const {
  const std::string_view value = walk_.text().substr(member.value_at, end - member.value_at);
  std::string text;
  if (value.starts_with('"')) {
    if (append_unescaped(value.substr(1, value.size() - 2), text)) return text;
    return walk_.fault(member.value_at,
                       fmt::format("a string without bad escapes as {}", member.key));
  }
  if (value == "null") return text;
  if (lenient) return std::string(value);
  return walk_.fault(member.value_at, fmt::format("a string or null as {}", member.key));
}

}  // namespace msprobe::dump
