// SPDX-License-Identifier: Apache-2.0
#include "documented_spellings.h"

#include <algorithm>
#include <string_view>

namespace msprobe::app {
namespace {

// Options whose value may be left out; what follows is their value only with this suffix.
struct OptionalValue {
  std::string_view option;
  std::string_view suffix;
};
constexpr OptionalValue kOptionalValues[] = {
    {"--json", ".json"},         {"--report", ".html"},      {"--xlsx", ".xlsx"},
    {"--cell_mapping", ".yaml"}, {"--cell_mapping", ".yml"}, {"--cell_mapping", ".json"},
    {"--api_mapping", ".yaml"},  {"--api_mapping", ".yml"},  {"--api_mapping", ".json"}};

// Whether `word` is the value of the option before it.
bool is_optional_value(const std::string& word, std::string_view before) {
  return std::ranges::any_of(kOptionalValues, [&](const OptionalValue& row) {
    return row.option == before && word.ends_with(row.suffix);
  });
}

// The one declared long name that starts with `prefix`; empty when none or several do.
std::string_view unique_long(std::string_view prefix, const DeclaredOptions& declared) {
  std::string_view found;
  for (const std::string& candidate : declared.long_names) {
    if (!candidate.starts_with(prefix)) continue;
    if (candidate == prefix) return candidate;
    if (!found.empty()) return {};
    found = candidate;
  }
  return found;
}

// The same for documented spellings with one dash.
std::string_view unique_documented(std::string_view prefix, const DeclaredOptions& declared) {
  std::string_view found;
  for (const auto& [documented, long_name] : declared.spellings) {
    if (!documented.starts_with(prefix)) continue;
    if (documented == prefix) return long_name;
    if (!found.empty()) return {};
    found = long_name;
  }
  return found;
}

bool looks_like_number(std::string_view word) {
  return word.size() > 1 && (word[1] == '.' || (word[1] >= '0' && word[1] <= '9'));
}

bool is_bundle(std::string_view letters, const DeclaredOptions& declared) {
  return std::ranges::all_of(
      letters, [&](char letter) { return declared.letters.find(letter) != std::string::npos; });
}

std::string rewrite_long(const std::string& word, const DeclaredOptions& declared) {
  const std::size_t equals = word.find('=');
  const std::string_view name =
      std::string_view(word).substr(2, equals == std::string::npos ? equals : equals - 2);
  const std::string_view full = unique_long(name, declared);
  if (full.empty()) return word;
  return "--" + std::string(full) + (equals == std::string::npos ? "" : word.substr(equals));
}

void rewrite_one_dash(const std::string& word, const DeclaredOptions& declared,
                      std::vector<std::string>& out) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  const bool letter = name.size() == 2;
  std::string rewritten = name;
  if (!letter && !is_bundle(std::string_view(name).substr(1), declared)) {
    const std::string_view full = unique_documented(name, declared);
    if (full.empty()) {
      out.push_back(word);
      return;
    }
    rewritten = "--" + std::string(full);
  }
  out.push_back(rewritten);
  if (equals != std::string::npos) out.push_back(value);
}

}  // namespace

std::vector<std::string> rewrite_spellings(std::span<const std::string> arguments,
                                           const DeclaredOptions& declared) {
  std::vector<std::string> out;
  bool options_ended = false;
  for (const std::string& word : arguments) {
    options_ended = options_ended || word == "--";
    if (!options_ended && !out.empty() && is_optional_value(word, out.back())) {
      out.back() += "=" + word;
    } else if (options_ended || word.size() < 2 || word[0] != '-' || looks_like_number(word)) {
      out.push_back(word);
    } else if (word[1] == '-') {
      out.push_back(rewrite_long(word, declared));
    } else {
      rewrite_one_dash(word, declared, out);
    }
  }
  return out;
}

}  // namespace msprobe::app
