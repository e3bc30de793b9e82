#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include "check/config.h"
#include "check/config_lists.h"
#include "core/path_check.h"

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

Result<Config> read_section(const simdjson::dom::object& document, Config config) {
  const Config defaults;
  config.white_list = defaults.white_list;
  config.black_list = defaults.black_list;
  config.error_data_path = defaults.error_data_path;
  element found;
  if (document.at_key("acc_check").get(found) != simdjson::SUCCESS) return config;
  simdjson::dom::object section;
  if (found.get(section) != simdjson::SUCCESS) return wrong_type("acc_check", "dict");
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
  const Result<Config> read = read_section(document, std::move(config));
  if (!read) return propagate(read, path.string());
  return read;
}

}  // namespace msprobe::check
