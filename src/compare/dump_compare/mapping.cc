// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/mapping.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "core/file.h"
#include "dump/entry_name.h"
#include "yaml/load_yaml.h"

namespace msprobe::dump_compare {
namespace {

constexpr std::size_t kMaxMappingBytes = std::size_t{1} << 30;

using Rules = std::vector<std::pair<std::string, std::string>>;

Failure at_line(const std::filesystem::path& path, const YAML::Node& node, std::string_view text) {
  return fail(ErrorKind::kFormat,
              fmt::format("{}: line {}: {}", path.string(), node.Mark().line + 1, text));
}

// What `read` makes of the file; an empty one is refused.
template <class T>
Result<T> read_yaml(const std::filesystem::path& path,
                    Result<T> (*read)(const YAML::Node&, const std::filesystem::path&)) {
  const Result<FileBytes> file = load_file(path, kMaxMappingBytes);
  if (!file) return propagate(file);
  try {
    const YAML::Node root = yaml::load(file->text());
    if (root.IsNull()) {
      return fail(ErrorKind::kUsage, fmt::format("{}: the mapping is empty", path.string()));
    }
    return read(root, path);
  } catch (const YAML::Exception& error) {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: line {}: {}", path.string(), error.mark.line + 1, error.msg));
  }
}

Result<Rules> rules_of(const YAML::Node& node, const std::filesystem::path& path) {
  Rules rules;
  for (const auto& row : node) {
    if (!row.first.IsScalar() || !row.second.IsScalar()) {
      return at_line(path, row.first, "expected target name: golden name");
    }
    rules.emplace_back(row.first.Scalar(), row.second.Scalar());
  }
  return rules;
}

// A flat YAML object of texts, in file order.
Result<Rules> read_rules(const std::filesystem::path& path) {
  return read_yaml<Rules>(path, [](const YAML::Node& root, const std::filesystem::path& file) {
    if (!root.IsMap()) {
      return Result<Rules>(
          fail(ErrorKind::kFormat,
               fmt::format("{}: expected an object, target name: golden name", file.string())));
    }
    return rules_of(root, file);
  });
}

using Layers = std::map<std::string, LayerMapping::Children, std::less<>>;

Result<Layers> layers_of(const YAML::Node& root, const std::filesystem::path& path) {
  if (!root.IsMap()) {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: expected an object of classes, each with target path: golden path",
                            path.string()));
  }
  Layers layers;
  for (const auto& row : root) {
    if (!row.first.IsScalar() || !row.second.IsMap()) {
      return at_line(path, row.first,
                     "expected a class (TopLayer for the model) with lines target path: golden "
                     "path");
    }
    Result<Rules> children = rules_of(row.second, path);
    if (!children) return propagate(children);
    if (!layers.emplace(row.first.Scalar(), *std::move(children)).second) {
      return at_line(path, row.first, fmt::format("{} is there twice", row.first.Scalar()));
    }
  }
  return layers;
}

constexpr int kMostPlaces = 1000;

// "ms_args: [0, 2]"; none if the key is missing.
Result<std::vector<int>> places_of(const YAML::Node& rule, const std::string& key,
                                   const std::filesystem::path& path) {
  const YAML::Node list = rule[key];
  std::vector<int> places;
  if (!list) return places;
  if (list.IsSequence()) {
    for (const auto& place : list) places.push_back(place.as<int>(-1));
  }
  const bool valid = list.IsSequence() && std::ranges::all_of(places, [](int place) {
                       return place >= 0 && place < kMostPlaces;
                     });
  if (!valid) return at_line(path, list, fmt::format("{}: expected a list of places", key));
  return places;
}

Result<std::vector<std::pair<int, int>>> paired_places(const YAML::Node& rule,
                                                       std::initializer_list<const char*> words,
                                                       const std::filesystem::path& path) {
  std::vector<std::pair<int, int>> pairs;
  for (const std::string word : words) {
    const Result<std::vector<int>> target = places_of(rule, "ms_" + word, path);
    if (!target) return propagate(target);
    const Result<std::vector<int>> golden = places_of(rule, "pt_" + word, path);
    if (!golden) return propagate(golden);
    if (target->size() != golden->size()) {
      return at_line(path, rule, fmt::format("ms_{0} and pt_{0} must be equally long", word));
    }
    for (std::size_t i = 0; i < target->size(); ++i) {
      pairs.emplace_back((*target)[i], (*golden)[i]);
    }
  }
  return pairs;
}

Result<ApiRule> api_rule_of(const YAML::Node& node, const std::filesystem::path& path) {
  if (!node.IsMap() || !node["ms_api"] || !node["pt_api"] || !node["ms_api"].IsScalar() ||
      !node["pt_api"].IsScalar()) {
    return at_line(path, node, "expected ms_api and pt_api, such as Mint.add and Torch.add");
  }
  ApiRule rule;
  rule.target = node["ms_api"].Scalar();
  rule.golden = node["pt_api"].Scalar();
  auto inputs = paired_places(node, {"args"}, path);
  if (!inputs) return propagate(inputs);
  auto outputs = paired_places(node, {"output", "outputs"}, path);
  if (!outputs) return propagate(outputs);
  rule.inputs = *std::move(inputs);
  rule.outputs = *std::move(outputs);
  return rule;
}

using ApiRules = std::vector<ApiRule>;

Result<ApiRules> api_rules_of(const YAML::Node& root, const std::filesystem::path& path) {
  ApiRules rules;
  const auto add = [&](const YAML::Node& node) -> Result<void> {
    Result<ApiRule> rule = api_rule_of(node, path);
    if (!rule) return propagate(rule);
    if (std::ranges::find(rules, rule->target, &ApiRule::target) != rules.end()) {
      return at_line(path, node, fmt::format("{} is mapped twice", rule->target));
    }
    rules.push_back(*std::move(rule));
    return {};
  };
  if (!root.IsSequence()) {
    if (const auto added = add(root); !added) return propagate(added);
    return rules;
  }
  for (const auto& node : root) {
    if (const auto added = add(node); !added) return propagate(added);
  }
  return rules;
}

}  // namespace

Result<DataMapping> read_data_mapping(const std::filesystem::path& path) {
  Result<Rules> rules = read_rules(path);
  if (!rules) return propagate(rules);
  DataMapping mapping;
  for (auto& [target, golden] : *rules) {
    if (!mapping.emplace(target, std::move(golden)).second) {
      return fail(ErrorKind::kFormat, fmt::format("{}: {} is mapped twice", path.string(), target));
    }
  }
  return mapping;
}

Result<CellMapping> read_cell_mapping(const std::filesystem::path& path) {
  Result<Rules> rules = read_rules(path);
  if (!rules) return propagate(rules);
  return CellMapping(*std::move(rules));
}

Result<LayerMapping> read_layer_mapping(const std::filesystem::path& path) {
  Result<Layers> layers = read_yaml(path, &layers_of);
  if (!layers) return propagate(layers);
  return LayerMapping(*std::move(layers));
}

Result<ApiMapping> read_api_mapping(const std::filesystem::path& path) {
  Result<ApiRules> rules = read_yaml(path, &api_rules_of);
  if (!rules) return propagate(rules);
  return ApiMapping(*std::move(rules));
}

std::string CellMapping::entry(std::string_view target) const {
  std::string name(target);
  constexpr std::string_view kCell = "Cell.";
  if (name.starts_with(kCell)) name.replace(0, kCell.size(), "Module.");
  const auto parsed = dump::parse_entry_name(name);
  if (!parsed || !parsed->is_module) return name;
  const std::size_t begin = name.find('.') + 1;
  const std::size_t size = parsed->owner.size() - std::min(begin, parsed->owner.size());
  std::string module = name.substr(begin, size);
  const auto whole = std::ranges::find(rules_, module, &std::pair<std::string, std::string>::first);
  if (whole != rules_.end()) {
    module = whole->second;
  } else {
    for (const auto& [from, to] : rules_) {
      const std::size_t at = from.empty() ? std::string::npos : module.find(from);
      if (at != std::string::npos) module.replace(at, from.size(), to);
    }
  }
  return name.replace(begin, size, module);
}

std::string LayerMapping::path(
    std::string_view target,
    const std::function<std::string_view(std::string_view path)>& class_of) const {
  std::string mapped;
  std::string_view layer = "TopLayer";
  std::size_t begin = 0;
  while (begin < target.size()) {
    const std::string_view rest = target.substr(begin);
    const auto children = layers_.find(layer);
    std::string_view from = rest.substr(0, rest.find('.'));
    std::string_view to = from;
    std::size_t longest = 0;
    if (children != layers_.end()) {
      for (const auto& [key, value] : children->second) {
        const bool fits =
            rest.starts_with(key) && (rest.size() == key.size() || rest[key.size()] == '.');
        if (!fits || key.size() <= longest) continue;
        longest = key.size();
        from = key;
        to = value;
      }
    }
    if (!mapped.empty() && !to.empty()) mapped += '.';
    mapped += to;
    begin += from.size();
    layer = class_of(target.substr(0, begin));
    begin += 1;  // the dot
  }
  return mapped;
}

std::string ApiRule::place(std::string_view target_place) const {
  for (const auto& [part, pairs] : {std::pair(std::string_view("input."), &inputs),
                                    std::pair(std::string_view("output."), &outputs)}) {
    if (!target_place.starts_with(part)) continue;
    for (const auto& [from, to] : *pairs) {
      const std::string number = fmt::format("{}{}", part, from);
      if (!target_place.starts_with(number)) continue;
      const std::string_view rest = target_place.substr(number.size());
      if (rest.empty() || rest.front() == '.') return fmt::format("{}{}{}", part, to, rest);
    }
  }
  return {};
}

const ApiRule* ApiMapping::find(std::string_view target_api) const {
  const auto found = std::ranges::find(rules_, target_api, &ApiRule::target);
  return found == rules_.end() ? nullptr : &*found;
}

}  // namespace msprobe::dump_compare
