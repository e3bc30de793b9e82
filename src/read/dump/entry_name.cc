// SPDX-License-Identifier: Apache-2.0
#include "dump/entry_name.h"

#include <algorithm>
#include <array>

namespace msprobe::dump {
namespace {

constexpr std::array<std::string_view, 4> kEntryKinds{"forward", "backward", "parameters_grad",
                                                      "debug"};

std::optional<EntryKind> entry_kind(std::string_view part) {
  const auto* const found = std::ranges::find(kEntryKinds, part);
  if (found == kEntryKinds.end()) return std::nullopt;
  return static_cast<EntryKind>(found - kEntryKinds.begin());
}

bool is_call_number(std::string_view part) {
  return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

// Takes the last part off.
std::string_view take_last_part(std::string_view& name) {
  const std::size_t dot = name.rfind('.');
  const std::string_view part = dot == std::string_view::npos ? name : name.substr(dot + 1);
  name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  return part;
}

}  // namespace

std::string_view name(EntryKind kind) { return kEntryKinds[static_cast<std::size_t>(kind)]; }

std::string_view EntryName::module_path() const {
  if (!is_module) return {};
  const std::size_t first = owner.find('.');
  const std::size_t last = owner.rfind('.');
  return last > first ? owner.substr(first + 1, last - first - 1) : std::string_view();
}

std::string_view EntryName::module_class() const {
  return is_module ? owner.substr(owner.rfind('.') + 1) : std::string_view();
}

std::optional<EntryName> parse_entry_name(std::string_view entry) {
  EntryName parsed;
  parsed.is_module = entry.starts_with("Module.") || entry.starts_with("Cell.");
  parsed.owner = entry;
  const std::string_view last = take_last_part(parsed.owner);
  if (const auto kind = entry_kind(last)) {
    parsed.kind = *kind;
    std::string_view owner = parsed.owner;
    const std::string_view number = take_last_part(owner);
    if (!parsed.is_module && !owner.empty() && is_call_number(number)) {
      parsed.owner = owner;
      parsed.number = number;
    }
  } else {
    const auto before_last = entry_kind(take_last_part(parsed.owner));
    if (!before_last) return std::nullopt;
    parsed.kind = *before_last;
    parsed.number = last;
  }
  if (parsed.owner.empty()) return std::nullopt;
  return parsed;
}

}  // namespace msprobe::dump
