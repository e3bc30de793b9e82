// SPDX-License-Identifier: Apache-2.0
#include "documented/standards_file.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "core/path_check.h"
#include "core/suggestion.h"
#include "yaml/load_yaml.h"

namespace msprobe::documented {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;  // no list of rules is longer
constexpr std::size_t kLongestWord = 64;                 // longer words get no suggestion

enum class Range : std::uint8_t { kNotNegative, kShare, kCosine };

struct RangeText {
  double low, high;
  std::string_view text;
};
constexpr RangeText kRanges[] = {
    // in the order of Range
    {0, HUGE_VAL, "a number not below 0"},
    {0, 1, "a number from 0 to 1"},
    {-1, 1, "a number from -1 to 1"},
};

template <class Numbers>
struct NumberKey {
  std::string_view key;
  Range range;
  double Numbers::* member;
  double Numbers::* also = nullptr;
};

constexpr NumberKey<measure::Thresholds> kThresholdKeys[] = {
    {"small_value", Range::kNotNegative, &measure::Thresholds::small_value},
    {"small_value_atol", Range::kNotNegative, &measure::Thresholds::small_value_atol,
     &measure::Thresholds::absolute_small_value_atol},
    {"rtol", Range::kNotNegative, &measure::Thresholds::rtol},
    {"ulp_count", Range::kNotNegative, &measure::Thresholds::ulp_count},
};

constexpr NumberKey<LadderLimits> kLadderKeys[] = {
    {"cosine", Range::kCosine, &LadderLimits::cosine},
    {"max_abs_error", Range::kNotNegative, &LadderLimits::max_abs_error},
    {"dual_100", Range::kShare, &LadderLimits::dual_100},
    {"dual_1000", Range::kShare, &LadderLimits::dual_1000},
    {"dual_10000", Range::kShare, &LadderLimits::dual_10000},
};

constexpr NumberKey<CompareLimits> kLimitKeys[] = {
    {"small_value_error_ratio", Range::kNotNegative, &CompareLimits::small_value_error_ratio},
    {"rmse_ratio", Range::kNotNegative, &CompareLimits::rmse_ratio},
    {"max_relative_error_ratio", Range::kNotNegative, &CompareLimits::max_relative_error_ratio},
    {"mean_relative_error_ratio", Range::kNotNegative, &CompareLimits::mean_relative_error_ratio},
    {"error_balance_ratio", Range::kNotNegative, &CompareLimits::error_balance_ratio},
    {"mean_ulp", Range::kNotNegative, &CompareLimits::mean_ulp},
    {"ulp_proportion", Range::kShare, &CompareLimits::ulp_proportion},
    {"dual_1000", Range::kShare, &CompareLimits::dual_1000},
};

// Where in the file we are: its name, and the path of keys that led here.
struct Place {
  std::string_view shown;
  std::string path;

  Place at(std::string_view step) const {
    return {shown, path.empty() ? std::string(step) : fmt::format("{}.{}", path, step)};
  }
  Failure wrong(const YAML::Node& node, std::string_view what) const {
    return fail(ErrorKind::kUsage, fmt::format("{}: line {}: {}: {}", shown, node.Mark().line + 1,
                                               path.empty() ? "the file" : path, what));
  }
};

std::string described(const YAML::Node& node) {
  if (node.IsScalar()) return fmt::format("'{}'", node.Scalar().substr(0, kLongestWord));
  if (node.IsSequence()) return "a list";
  return node.IsMap() ? "a map" : "nothing";
}

std::string unknown(std::string_view what, const std::string& word, const Words& known) {
  const std::string near = word.size() <= kLongestWord ? nearest(word, known) : std::string();
  return fmt::format("unknown {} '{}'{} (known: {})", what, word.substr(0, kLongestWord),
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near),
                     fmt::join(known, ", "));
}

// Walks a map once: every key must be known and occur once. `read` gets the index of the key.
template <class Read>
Result<void> read_map(const YAML::Node& node, const Place& place, const Words& keys, Read read) {
  if (!node.IsMap()) {
    return place.wrong(node, fmt::format("found {}, expected a map with some of: {}",
                                         described(node), fmt::join(keys, ", ")));
  }
  std::vector<bool> seen(keys.size());
  for (const auto& item : node) {
    if (!item.first.IsScalar()) return place.wrong(item.first, "a key must be plain text");
    const std::string& key = item.first.Scalar();
    const auto found = std::ranges::find(keys, key);
    if (found == keys.end()) return place.wrong(item.first, unknown("key", key, keys));
    const auto index = static_cast<std::size_t>(found - keys.begin());
    if (seen[index]) return place.wrong(item.first, fmt::format("duplicate key '{}'", key));
    seen[index] = true;
    if (const Result<void> done = read(index, item.second, place.at(key)); !done) return done;
  }
  return {};
}

// "0.5", "1e-6", "2**-14" or "2^-14".
std::optional<double> number_of(std::string_view text) {
  const auto whole = [](std::string_view part) -> std::optional<double> {
    double value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc{} || end != part.data() + part.size()) return std::nullopt;
    return value;
  };
  for (const std::string_view sign : {"**", "^"}) {
    const std::size_t at = text.find(sign);
    if (at == std::string_view::npos) continue;
    const auto base = whole(text.substr(0, at));
    const auto exponent = whole(text.substr(at + sign.size()));
    if (!base || !exponent) return std::nullopt;
    return std::pow(*base, *exponent);
  }
  return whole(text);
}

Result<double> read_number(const YAML::Node& node, const Place& place, Range range) {
  const RangeText& wanted = kRanges[static_cast<std::size_t>(range)];
  const auto value = node.IsScalar() ? number_of(node.Scalar()) : std::nullopt;
  if (!value || !std::isfinite(*value) || *value < wanted.low || *value > wanted.high) {
    return place.wrong(node, fmt::format("found {}, expected {}", described(node), wanted.text));
  }
  return *value;
}

template <class Numbers>
Result<void> read_numbers(const YAML::Node& node, const Place& place,
                          std::span<const NumberKey<Numbers>> keys,
                          std::vector<Setting<Numbers>>& settings) {
  Words names;
  for (const auto& key : keys) names.emplace_back(key.key);
  return read_map(node, place, names,
                  [&](std::size_t index, const YAML::Node& value, const Place& at) -> Result<void> {
                    const NumberKey<Numbers>& key = keys[index];
                    const Result<double> number = read_number(value, at, key.range);
                    if (!number) return propagate(number);
                    settings.push_back({key.member, *number});
                    if (key.also != nullptr) settings.push_back({key.also, *number});
                    return {};
                  });
}

// One word or a list of them.
Result<Words> read_words(const YAML::Node& node, const Place& place) {
  if (node.IsScalar() && !node.Scalar().empty()) return Words{node.Scalar()};
  Words words;
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) {
      if (!item.IsScalar() || item.Scalar().empty()) {
        return place.wrong(item, fmt::format("found {}, expected a name", described(item)));
      }
      words.push_back(item.Scalar());
    }
  }
  if (words.empty()) {
    return place.wrong(
        node, fmt::format("found {}, expected a name or a list of names", described(node)));
  }
  return words;
}

Result<void> read_apis(const YAML::Node& node, const Place& place, Rule& rule) {
  Result<Words> words = read_words(node, place);
  if (!words) return propagate(words);
  rule.apis = std::move(*words);
  return {};
}

Words dtype_names() {
  Words names;
  for (int i = 0; i < static_cast<int>(kDTypeCount); ++i) {
    names.emplace_back(name(static_cast<DType>(i)));
  }
  return names;
}

Result<void> read_dtypes(const YAML::Node& node, const Place& place, Rule& rule) {
  const Result<Words> words = read_words(node, place);
  if (!words) return propagate(words);
  for (const std::string& word : *words) {
    const std::optional<DType> dtype = parse_dtype(word);
    if (!dtype) return place.wrong(node, unknown("dtype", word, dtype_names()));
    rule.dtypes.push_back(*dtype);
  }
  return {};
}

Result<void> read_devices(const YAML::Node& node, const Place& place, Rule& rule) {
  const Words known = {"npu", "cuda", "cpu", "sim", "recorded"};
  Result<Words> words = read_words(node, place);
  if (!words) return propagate(words);
  for (const std::string& word : *words) {
    if (std::ranges::find(known, word) == known.end()) {
      return place.wrong(node, unknown("kind of device", word, known));
    }
  }
  rule.devices = std::move(*words);
  return {};
}

// A word that names one of the enumerators from `first` to `last`.
template <class Enum>
Result<void> read_choice(const YAML::Node& node, const Place& place, std::string_view what,
                         Enum first, Enum last, std::optional<Enum>& chosen) {
  Words known;
  for (auto i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
    const auto value = static_cast<Enum>(i);
    known.emplace_back(name(value));
    if (node.IsScalar() && node.Scalar() == known.back()) chosen = value;
  }
  if (chosen) return {};
  if (!node.IsScalar()) {
    return place.wrong(
        node, fmt::format("found {}, expected one of {}", described(node), fmt::join(known, ", ")));
  }
  return place.wrong(node, unknown(what, node.Scalar(), known));
}

Result<void> read_standard(const YAML::Node& node, const Place& place, Rule& rule) {
  return read_choice(node, place, "standard", Standard::kBenchmark, Standard::kDual1000,
                     rule.standard);
}

Result<void> read_level(const YAML::Node& node, const Place& place, Rule& rule) {
  return read_choice(node, place, "level", Level::kL0, Level::kL2, rule.level);
}

Result<void> read_thresholds(const YAML::Node& node, const Place& place, Rule& rule) {
  return read_numbers<measure::Thresholds>(node, place, kThresholdKeys, rule.thresholds);
}

Result<void> read_ladder(const YAML::Node& node, const Place& place, Rule& rule) {
  return read_numbers<LadderLimits>(node, place, kLadderKeys, rule.ladder);
}

Result<void> read_limits(const YAML::Node& node, const Place& place, Rule& rule) {
  return read_numbers<CompareLimits>(node, place, kLimitKeys, rule.limits);
}

struct RuleKey {
  std::string_view key;
  Result<void> (*read)(const YAML::Node&, const Place&, Rule&);
};

constexpr RuleKey kRuleKeys[] = {
    {"api", &read_apis},          {"dtype", &read_dtypes},  {"device", &read_devices},
    {"standard", &read_standard}, {"level", &read_level},   {"thresholds", &read_thresholds},
    {"ladder", &read_ladder},     {"limits", &read_limits},
};

bool sets_nothing(const Rule& rule) {
  return !rule.standard && !rule.level && rule.thresholds.empty() && rule.ladder.empty() &&
         rule.limits.empty();
}

Result<Rule> read_rule(const YAML::Node& node, const Place& place) {
  Words keys;
  for (const RuleKey& key : kRuleKeys) keys.emplace_back(key.key);
  Rule rule;
  const Result<void> done =
      read_map(node, place, keys, [&](std::size_t index, const YAML::Node& value, const Place& at) {
        return kRuleKeys[index].read(value, at, rule);
      });
  if (!done) return propagate(done);
  if (sets_nothing(rule)) {
    return place.wrong(node,
                       "sets nothing; expected standard, level, thresholds, ladder or limits");
  }
  return rule;
}

Result<std::vector<Rule>> read_rules(const YAML::Node& file, const Place& place) {
  std::vector<Rule> rules;
  const Result<void> done = read_map(
      file, place, {"rules"},
      [&](std::size_t, const YAML::Node& list, const Place& at) -> Result<void> {
        if (!list.IsSequence() || list.size() == 0) {
          return at.wrong(list, fmt::format("found {}, expected a list of rules", described(list)));
        }
        for (std::size_t i = 0; i < list.size(); ++i) {
          Result<Rule> rule = read_rule(list[i], {at.shown, fmt::format("rules[{}]", i)});
          if (!rule) return propagate(rule);
          rules.push_back(std::move(*rule));
        }
        return {};
      });
  if (!done) return propagate(done);
  return rules;
}

}  // namespace

Result<std::vector<Rule>> parse_rules(std::string_view text, std::string_view shown) {
  try {
    return read_rules(yaml::load(text), {shown, {}});
  } catch (const YAML::Exception& error) {
    return fail(ErrorKind::kUsage,
                fmt::format("{}: line {}: not YAML: {}", shown, error.mark.line + 1, error.msg));
  }
}

Result<Standards> load_standards(const std::filesystem::path& path) {
  Standards standards;
  if (path.empty()) return standards;
  const Result<std::filesystem::path> checked = check_input_file(path, {});
  if (!checked) return propagate(checked);
  const Result<FileBytes> bytes = load_file(*checked, kMaxBytes);
  if (!bytes) return propagate(bytes);
  Result<std::vector<Rule>> rules = parse_rules(bytes->text(), checked->string());
  if (!rules) return propagate(rules);
  standards.rules = *std::move(rules);
  return standards;
}

}  // namespace msprobe::documented
