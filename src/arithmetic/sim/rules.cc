// SPDX-License-Identifier: Apache-2.0
#include "sim/rules.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/stable_hash.h"
#include "yaml/load_yaml.h"

namespace msprobe::sim {
namespace {

constexpr std::string_view kDirections[] = {"both", "forward", "backward"};

constexpr std::string_view kRuleKeys =
    "fault, operators, apis, dtypes, shape, min_elements, direction, rate";

std::string names_of(std::span<const FaultRow> rows) {
  std::string names;
  for (const FaultRow& row : rows) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return names;
}

Result<void> set_direction(FaultRule& rule, const std::string& text) {
  if (std::ranges::find(kDirections, text) == std::end(kDirections)) {
    return fail(ErrorKind::kFormat,
                fmt::format("unknown direction '{}' (known: both, forward, backward)", text));
  }
  rule.forward = text != "backward";
  rule.backward = text != "forward";
  return {};
}

Result<void> set_key(FaultRule& rule, const std::string& key, const YAML::Node& value) {
  if (key == "fault") {
    const FaultRow* row = find_fault(value.as<std::string>());
    if (row == nullptr) {
      return fail(ErrorKind::kFormat, fmt::format("unknown fault '{}' (known: {})",
                                                  value.as<std::string>(), names_of(faults())));
    }
    rule.fault = row->fault;
  } else if (key == "operators") {
    rule.operators = value.as<std::vector<std::string>>();
  } else if (key == "apis") {
    rule.apis = value.as<std::vector<std::string>>();
  } else if (key == "dtypes") {
    rule.dtypes = value.as<std::vector<std::string>>();
  } else if (key == "shape") {
    rule.shape = value.as<std::vector<std::int64_t>>();
  } else if (key == "min_elements") {
    rule.min_elements = value.as<std::int64_t>();
  } else if (key == "rate") {
    rule.rate = value.as<double>();
    if (!(rule.rate >= 0 && rule.rate <= 1)) {
      return fail(ErrorKind::kFormat, fmt::format("rate {} is not in 0..1", rule.rate));
    }
  } else if (key == "direction") {
    return set_direction(rule, value.as<std::string>());
  } else {
    return fail(ErrorKind::kFormat, fmt::format("unknown key '{}' (known: {})", key, kRuleKeys));
  }
  return {};
}

// Which operators a fault of products is about where a rule names none; empty: whole calls.
std::vector<std::string> operators_of(Fault fault) {
  const std::vector<std::string> products = {"mm", "bmm", "addmm", "baddbmm"};
  const std::vector<std::string> of_codes = {"_scaled_mm", "_scaled_mm_v2", "_scaled_grouped_mm",
                                             "_scaled_grouped_mm_v2"};
  switch (fault) {
    case Fault::kLostTerms:
    case Fault::kCoarseSums:
      return products;
    case Fault::kLostBlock: {
      std::vector<std::string> both = products;
      both.insert(both.end(), of_codes.begin(), of_codes.end());
      return both;
    }
    case Fault::kOtherBlockScale:
    case Fault::kScaleExponent:
    case Fault::kOtherAxisScales:
    case Fault::kWrongSwizzle:
    case Fault::kSwappedHalves:
    case Fault::kFewBits:
    case Fault::kStaleAmax:
      return of_codes;
    default:
      return {};
  }
}

Result<FaultRule> parse_rule(const YAML::Node& node) {
  FaultRule rule;
  if (!node.IsMap() || !node["fault"]) {
    return fail(ErrorKind::kFormat, "a rule needs the key fault");
  }
  for (const auto& item : node) {
    const Result<void> set = set_key(rule, item.first.as<std::string>(), item.second);
    if (!set) return propagate(set);
  }
  if (rule.operators.empty()) rule.operators = operators_of(rule.fault);
  if (rule.fault == Fault::kWrongGradient) rule.forward = false;
  return rule;
}

Result<FaultRules> parse(const YAML::Node& root) {
  FaultRules rules;
  if (!root.IsMap()) return fail(ErrorKind::kFormat, "expected a map with the key faults");
  for (const auto& item : root) {
    const std::string key = item.first.as<std::string>();
    if (key == "seed") {
      rules.seed = item.second.as<std::uint64_t>();
      continue;
    }
    if (key != "faults") {
      return fail(ErrorKind::kFormat, fmt::format("unknown key '{}' (known: seed, faults)", key));
    }
    for (const YAML::Node& node : item.second) {
      Result<FaultRule> rule = parse_rule(node);
      if (!rule) return propagate(rule, fmt::format("line {}", node.Mark().line + 1));
      rule->number = rules.rules.size() + 1;
      rules.rules.push_back(std::move(*rule));
    }
  }
  return rules;
}

// Both "Functional.linear" and "linear" name Functional.linear.
bool names_api(const std::string& name, std::string_view call) {
  const std::string_view api = api_of(call);
  return api == name || api.substr(api.find('.') + 1) == name;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Result<FaultRules> parse_rules(std::string_view text, const std::string& shown) {
  try {
    const Result<FaultRules> rules = parse(yaml::load(text));
    return rules ? rules : Result<FaultRules>(propagate(rules, shown));
  } catch (const YAML::Exception& error) {
    return fail(ErrorKind::kFormat, fmt::format("{}: {}", shown, error.what()));
  }
}

bool strikes(const FaultRule& rule, std::uint64_t seed, const FaultPlace& place) {
  if (place.backward ? !rule.backward : !rule.forward) return false;
  if (rule.operators.empty() != place.operator_.empty()) return false;
  if (!rule.operators.empty() && !contains(rule.operators, place.operator_)) return false;
  if (!rule.apis.empty() &&
      std::ranges::none_of(rule.apis, [&](const auto& api) { return names_api(api, place.call); }))
    return false;
  const std::uint64_t drawn = StableHash()
                                  .add(seed)
                                  .add(row_of(rule.fault).name)
                                  .add(place.call)
                                  .add(place.operator_)
                                  .add(static_cast<std::uint64_t>(place.backward))
                                  .add(place.number)
                                  .value()
                                  .high;
  constexpr double kRange = 18446744073709551616.0;  // 2^64
  return static_cast<double>(drawn) < rule.rate * kRange;
}

bool fits(const FaultRule& rule, std::string_view dtype, const std::vector<std::int64_t>& shape) {
  if (!rule.dtypes.empty() && !contains(rule.dtypes, dtype)) return false;
  if (!rule.shape.empty() && rule.shape != shape) return false;
  const std::int64_t numel =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return numel >= rule.min_elements;
}

}  // namespace msprobe::sim
