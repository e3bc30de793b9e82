// SPDX-License-Identifier: Apache-2.0
#include "check/call_selection.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include "core/call_name.h"
#include "core/suggestion.h"

namespace msprobe::check {
namespace {

constexpr std::size_t kMostSuggestions = 3;

bool is_pattern(std::string_view word) { return word.find_first_of("*?[") != word.npos; }

bool matches(const std::string& pattern, std::string_view text) {
  return ::fnmatch(pattern.c_str(), std::string(text).c_str(), 0) == 0;
}

std::string_view bare_name_of(std::string_view full_name) {
  const auto name = parse_call_name(full_name);
  return name ? name->bare_name : std::string_view();
}

// "; its APIs are conv2d, relu and 12 more", in the order of the recording.
std::string first_apis(const dump::DumpIndex& dump) {
  constexpr std::size_t kMostApis = 10;
  std::vector<std::string_view> names;
  std::set<std::string_view> known;
  for (const dump::CallSlice& call : dump.calls) {
    const std::string_view name = bare_name_of(call.full_name);
    if (name.empty() || !known.insert(name).second) continue;
    if (names.size() < kMostApis) names.push_back(name);
  }
  if (names.empty()) return {};
  const std::size_t more = known.size() - names.size();
  return fmt::format("; its APIs are {}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

// The first calls of the API that the word names; else the API that is spelt most like it; else
// what there is.
std::string near_names(const dump::DumpIndex& dump, const std::string& word) {
  const std::string_view api = api_of(word);
  std::vector<std::string_view> calls;
  std::set<std::string> apis;
  for (const dump::CallSlice& call : dump.calls) {
    const bool same = api_of(call.full_name) == api || bare_name_of(call.full_name) == api;
    if (same && calls.size() < kMostSuggestions) calls.push_back(call.full_name);
    apis.emplace(api_of(call.full_name));
    apis.emplace(bare_name_of(call.full_name));
  }
  if (!calls.empty()) return fmt::format("; it has {}", fmt::join(calls, ", "));
  const std::vector<std::string> candidates(apis.begin(), apis.end());
  std::string near = did_you_mean(word, candidates);
  if (near.empty()) near = did_you_mean(api, candidates);
  return near.empty() ? first_apis(dump) : near;
}

}  // namespace

CallSelection::CallSelection(std::span<const std::string> words)
    : everything_(words.empty()), words_(words.begin(), words.end()) {
  for (const std::string& word : words) {
    names_.emplace(call_of(word));
    if (is_pattern(word)) patterns_.push_back(word);
  }
}

bool CallSelection::contains(std::string_view full_name) const {
  if (everything_) return true;
  const std::string_view api = api_of(full_name);
  const std::string_view bare_name = bare_name_of(full_name);
  for (const std::string_view name : {full_name, api, bare_name}) {
    if (!name.empty() && names_.contains(std::string(name))) return true;
  }
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
    return matches(pattern, full_name) || matches(pattern, api) || matches(pattern, bare_name);
  });
}

Result<void> CallSelection::check(const dump::DumpIndex& dump) const {
  for (const std::string& word : words_) {
    const CallSelection one({&word, 1});
    const bool found = std::ranges::any_of(
        dump.calls, [&](const dump::CallSlice& call) { return one.contains(call.full_name); });
    if (!found) return fail(ErrorKind::kUsage, no_call_named(word, dump));
  }
  return {};
}

std::string no_call_named(const std::string& word, const dump::DumpIndex& dump) {
  return fmt::format("the dump has no call named {} ({} calls, the first is {}){}", word,
                     dump.calls.size(), dump.calls.empty() ? "none" : dump.calls.front().full_name,
                     near_names(dump, word));
}

}  // namespace msprobe::check
