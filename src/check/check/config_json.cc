// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include "check/config.h"
#include "check/config_lists.h"
#include "core/path_check.h"
#include "core/suggestion.h"

namespace msprobe::check {
namespace {

namespace fs = std::filesystem;
using simdjson::dom::element;

constexpr std::int64_t kMaxNumber = 1'000'000;  // of a rank or a step

constexpr std::string_view kTasks[] = {"tensor",     "statistics",     "acc_check", "structure",
                                       "diff_check", "exception_dump", "nan_check"};
constexpr std::string_view kLevels[] = {"L0", "L1", "L2", "mix", "debug"};
constexpr std::string_view kPrecisions[] = {"low", "high"};
constexpr std::string_view kRiskLevels[] = {"CORE", "FOCUS", "ALL"};

Failure wrong_type(std::string_view key, std::string_view type) {
  return fail(ErrorKind::kUsage, fmt::format("{} must be {} type", key, type));
}

Result<void> check_word(std::string_view key, const element& value,
                        std::span<const std::string_view> words) {
  std::string_view word;
  if (value.get(word) != simdjson::SUCCESS) return wrong_type(key, "str");
  if (std::ranges::find(words, word) != words.end()) return {};
  return fail(ErrorKind::kUsage,
              fmt::format("{} must be one of {}, it is {}", key, fmt::join(words, ", "), word));
}

Result<void> check_task(std::string_view key, const element& value) {
  return check_word(key, value, kTasks);
}
Result<void> check_level(std::string_view key, const element& value) {
  return check_word(key, value, kLevels);
}
Result<void> check_precision(std::string_view key, const element& value) {
  return check_word(key, value, kPrecisions);
}
Result<void> check_risk_level(std::string_view key, const element& value) {
  return check_word(key, value, kRiskLevels);
}
Result<void> check_string(std::string_view key, const element& value) {
  if (!value.is_string()) return wrong_type(key, "str");
  return {};
}
Result<void> check_bool(std::string_view key, const element& value) {
  if (!value.is_bool()) return wrong_type(key, "bool");
  return {};
}

// "3" or "4-6", each number in range and in order.
bool is_number_or_range(std::string_view text) {
  std::int64_t last = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int part = 0; part < 2; ++part) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < last || number > kMaxNumber) return false;
    if (next == end) return true;
    if (*next != '-') return false;
    last = number;
    at = next + 1;
  }
  return false;
}

Result<void> check_numbers(std::string_view key, const element& value) {
  simdjson::dom::array items;
  if (value.get(items) != simdjson::SUCCESS) return wrong_type(key, "list");
  for (const element item : items) {
    std::int64_t number = 0;
    std::string_view text;
    const bool is_int = item.get(number) == simdjson::SUCCESS;
    const bool is_text = item.get(text) == simdjson::SUCCESS;
    const bool good =
        is_int ? number >= 0 && number <= kMaxNumber : is_text && is_number_or_range(text);
    if (!good) {
      return fail(ErrorKind::kUsage,
                  fmt::format("{} must hold numbers 0 to {} or ranges \"a-b\"", key, kMaxNumber));
    }
  }
  return {};
}

Result<std::vector<std::string>> read_strings(std::string_view key, const element& value) {
  simdjson::dom::array items;
  if (value.get(items) != simdjson::SUCCESS) {
    return fail(ErrorKind::kUsage, fmt::format("{} must be a list type", key));
  }
  std::vector<std::string> names;
  for (const element item : items) {
    std::string_view name;
    if (item.get(name) != simdjson::SUCCESS) {
      return fail(ErrorKind::kUsage, fmt::format("All elements in {} must be string type", key));
    }
    names.emplace_back(name);
  }
  return names;
}

Result<void> check_strings(std::string_view key, const element& value) {
  const Result<std::vector<std::string>> names = read_strings(key, value);
  if (!names) return propagate(names);
  return {};
}

// The collector's keys; a wrong one here means the wrong file, so it ends the run.
struct Key {
  std::string_view name;
  Result<void> (*check)(std::string_view key, const element& value);
};
constexpr std::array kCommonKeys = {
    Key{"task", &check_task},
    Key{"dump_path", &check_string},
    Key{"level", &check_level},
    Key{"rank", &check_numbers},
    Key{"step", &check_numbers},
    Key{"dump_enable", &check_bool},
    Key{"extra_info", &check_bool},
    Key{"async_dump", &check_bool},
    Key{"precision", &check_precision},
    Key{"risk_level", &check_risk_level},
    Key{"custom_op_namespaces", &check_strings},
};

// Further sections and keys of the collector that a check has no use for.
constexpr std::string_view kOtherSections[] = {
    "overflow_check", "run_ut", "free_benchmark",   "grad_probe",
    "monitor",        "seed",   "is_deterministic", "enable_dataloader"};

Result<void> check_common(const simdjson::dom::object& document) {
  for (const Key& key : kCommonKeys) {
    element value;
    if (document.at_key(key.name).get(value) != simdjson::SUCCESS || value.is_null()) continue;
    if (const Result<void> checked = key.check(key.name, value); !checked) return checked;
  }
  return {};
}

Result<void> read_api_list(const simdjson::dom::object& section, std::string_view key,
                           std::vector<std::string>& list) {
  element value;
  if (section.at_key(key).get(value) != simdjson::SUCCESS) return {};
  Result<std::vector<std::string>> names = read_strings(key, value);
  if (!names) return propagate(names);
  if (const Result<void> known = check_listed_names(key, *names); !known) return known;
  list = std::move(*names);
  return {};
}

constexpr std::array<std::string_view, 3> kSectionKeys{"white_list", "black_list",
                                                       "error_data_path"};
// Of checks while the training runs. They are allowed as long as that is off.
constexpr std::array<std::string_view, 7> kOnlineKeys{
    "is_online", "is_benchmark_device", "nfs_path", "tls_path", "host", "port", "rank_list"};

std::vector<std::string> words_of(std::span<const std::string_view> words) {
  return {words.begin(), words.end()};
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// A list that has no effect would go unnoticed: everything would be checked.
Result<void> check_section_keys(const simdjson::dom::object& section) {
  for (const auto& [key, value] : section) {
    bool online = false;
    if (key == "is_online" && value.get(online) == simdjson::SUCCESS && online) {
      return fail(ErrorKind::kUsage,
                  "acc_check: is_online true: a check while the training runs is not supported; "
                  "set it to false, record a dump and name it with -api_info");
    }
    if (is_one_of(key, kSectionKeys) || is_one_of(key, kOnlineKeys)) continue;
    return fail(ErrorKind::kUsage,
                fmt::format("acc_check: {} must be one of {}{}", key, fmt::join(kSectionKeys, ", "),
                            did_you_mean(key, words_of(kSectionKeys))));
  }
  return {};
}

std::vector<std::string_view> top_keys() {
  std::vector<std::string_view> names(std::begin(kTasks), std::end(kTasks));
  names.insert(names.end(), std::begin(kOtherSections), std::end(kOtherSections));
  for (const Key& key : kCommonKeys) names.push_back(key.name);
  return names;
}

// Of a collector's file we know only part; a word of ours that is misspelt or at the wrong place is
// refused, any other unknown one is named.
Result<void> check_top_keys(const simdjson::dom::object& document, Config& config) {
  const std::vector<std::string_view> known = top_keys();
  for (const auto& [key, value] : document) {
    if (is_one_of(key, known)) continue;
    const std::string meant = nearest(key, words_of(kSectionKeys));
    if (!meant.empty()) {
      return fail(ErrorKind::kUsage,
                  fmt::format("{} belongs in the section acc_check: {{\"acc_check\": "
                              "{{\"{}\": ...}}}}",
                              key, meant));
    }
    const std::string hint = did_you_mean(key, words_of(known));
    if (!hint.empty()) {
      return fail(ErrorKind::kUsage, fmt::format("unknown key {}{}", key, hint));
    }
    config.warnings.push_back(fmt::format("unknown key {}: ignored", key));
  }
  return {};
}

Result<Config> read_section(const simdjson::dom::object& document, Config config) {
  const Config defaults;
  config.white_list = defaults.white_list;
  config.black_list = defaults.black_list;
  config.error_data_path = defaults.error_data_path;
  if (auto good = check_top_keys(document, config); !good) return propagate(good);
  element found;
  if (document.at_key("acc_check").get(found) != simdjson::SUCCESS) {
    config.warnings.emplace_back(
        "no section acc_check: every call is checked; the lists of config.yaml do not apply "
        "either");
    return config;
  }
  simdjson::dom::object section;
  if (found.get(section) != simdjson::SUCCESS) return wrong_type("acc_check", "dict");
  if (auto good = check_section_keys(section); !good) return propagate(good);
  if (auto read = read_api_list(section, "white_list", config.white_list); !read) {
    return propagate(read);
  }
  if (auto read = read_api_list(section, "black_list", config.black_list); !read) {
    return propagate(read);
  }
  if (section.at_key("error_data_path").get(found) == simdjson::SUCCESS) {
    std::string_view path;
    if (found.get(path) != simdjson::SUCCESS) return wrong_type("error_data_path", "str");
    config.error_data_path = path;
    if (auto there = check_error_data_path(config.error_data_path); !there) return propagate(there);
  }
  return config;
}

}  // namespace

Result<Config> with_config_json(Config config, const fs::path& path) {
  const Result<fs::path> checked = check_input_file(path, {.suffix = ".json"});
  if (!checked) return propagate(checked);
  simdjson::dom::parser parser;
  simdjson::dom::object document;
  const auto error = parser.load(checked->string()).get(document);
  if (error != simdjson::SUCCESS) {
    return fail(ErrorKind::kFormat, fmt::format("Failed to parse JSON from {}: {}", path.string(),
                                                simdjson::error_message(error)));
  }
  if (const Result<void> common = check_common(document); !common) {
    return propagate(common, path.string());
  }
  config.warnings.clear();
  Result<Config> read = read_section(document, std::move(config));
  if (!read) return propagate(read, path.string());
  for (std::string& warning : read->warnings) {
    warning = fmt::format("{}: {}", path.string(), warning);
  }
  return read;
}

}  // namespace msprobe::check
