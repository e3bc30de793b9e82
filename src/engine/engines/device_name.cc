// SPDX-License-Identifier: Apache-2.0
#include "engines/device_name.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace msprobe::engines {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_' || is_digit(c); }

bool is_id(std::string_view text) {
  constexpr std::size_t kMaxDigits = 5;
  return !text.empty() && text.size() <= kMaxDigits && std::ranges::all_of(text, is_digit);
}

// An id, a kind, or a kind with an id.
bool is_device_name(std::string_view name) {
  if (is_id(name)) return true;
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  const bool is_kind = !kind.empty() && !is_digit(kind[0]) && std::ranges::all_of(kind, is_letter);
  return is_kind && (colon == std::string_view::npos || is_id(name.substr(colon + 1)));
}

}  // namespace

Result<void> check_device_names(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.starts_with('-') && is_id(std::string_view(name).substr(1))) {
      return fail(ErrorKind::kUsage, "device id must be greater than or equal to 0");
    }
    if (!is_device_name(name)) {
      return fail(ErrorKind::kUsage, fmt::format("'{}' is not a device; a device is an id (0) or a "
                                                 "name (cpu, cuda:1, npu:0, sim:0, recorded)",
                                                 name));
    }
    if (!seen.insert(name).second) return fail(ErrorKind::kUsage, "device id must be unique");
  }
  return {};
}

bool is_bare_id(std::string_view name) { return is_id(name); }

std::string_view device_kind(std::string_view name) { return name.substr(0, name.find(':')); }

}  // namespace msprobe::engines
