// SPDX-License-Identifier: Apache-2.0
#include "card/card.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace msprobe::card {
namespace {

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

Key key_of(const Line& line) { return {line.section, line.subject, line.field}; }

std::map<Key, const Line*> by_name(const Card& card) {
  std::map<Key, const Line*> lines;
  for (const Line& line : card.lines) lines.emplace(key_of(line), &line);
  return lines;
}

std::string shown(const Line* line) {
  if (line == nullptr) return "not on the card";
  return line->value.empty() ? "cannot tell" : line->value;
}

}  // namespace

std::string_view name(Confidence confidence) {
  constexpr std::string_view kNames[] = {"none", "low", "medium", "high"};
  return kNames[std::to_underlying(confidence)];
}

const Line* find(const Card& card, std::string_view section, std::string_view subject,
                 std::string_view field) {
  const auto found = std::ranges::find(card.lines, Key{section, subject, field}, &key_of);
  return found == card.lines.end() ? nullptr : &*found;
}

std::vector<Change> changes(const Card& before, const Card& after) {
  std::vector<Change> changed;
  const std::map<Key, const Line*> old_lines = by_name(before);
  const std::map<Key, const Line*> new_lines = by_name(after);
  const auto compare = [&](const Line& line, const Line* one, const Line* other) {
    if (shown(one) == shown(other)) return;
    changed.push_back({line.section, line.subject, line.field, shown(one), shown(other)});
  };
  for (const Line& line : after.lines) {
    const auto old = old_lines.find(key_of(line));
    compare(line, old == old_lines.end() ? nullptr : old->second, &line);
  }
  for (const Line& line : before.lines) {
    if (!new_lines.contains(key_of(line))) compare(line, &line, nullptr);
  }
  return changed;
}

}  // namespace msprobe::card
