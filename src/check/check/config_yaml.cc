// SPDX-License-Identifier: Apache-2.0
#include "check/config_yaml.h"

#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "check/config_lists.h"
#include "core/file.h"
#include "core/path_check.h"
#include "core/suggestion.h"
#include "yaml/load_yaml.h"

namespace msprobe::check {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxPrecision = 20;

// A plain scalar is a string only when YAML reads it as nothing else; a quoted one always is.
bool is_string(const YAML::Node& node) {
  if (!node.IsScalar()) return false;
  if (node.Tag() == "!") return true;
  bool flag = false;
  double number = 0;
  return !YAML::convert<bool>::decode(node, flag) && !YAML::convert<double>::decode(node, number);
}

Result<std::vector<std::string>> read_list(std::string_view key, const YAML::Node& node) {
  if (!node.IsSequence()) {
    return fail(ErrorKind::kUsage, fmt::format("{} must be a list type", key));
  }
  std::vector<std::string> names;
  for (const YAML::Node& item : node) {
    if (!is_string(item)) {
      return fail(ErrorKind::kUsage, fmt::format("All elements in {} must be string type", key));
    }
    names.push_back(item.Scalar());
  }
  return names;
}

Result<void> read_api_list(std::string_view key, const YAML::Node& node,
                           std::vector<std::string>& list) {
  Result<std::vector<std::string>> names = read_list(key, node);
  if (!names) return propagate(names);
  if (const Result<void> known = check_listed_names(key, *names); !known) return known;
  list = std::move(*names);
  return {};
}

Result<void> read_white_list(const YAML::Node& node, Config& config) {
  return read_api_list("white_list", node, config.white_list);
}

Result<void> read_black_list(const YAML::Node& node, Config& config) {
  return read_api_list("black_list", node, config.black_list);
}

Result<void> read_quantization_list(const YAML::Node& node, Config& config) {
  return read_api_list("quantization_api_list", node, config.quantization_api_list);
}

Result<void> read_error_data_path(const YAML::Node& node, Config& config) {
  if (!is_string(node)) return fail(ErrorKind::kUsage, "error_data_path must be str type");
  config.error_data_path = node.Scalar();
  return check_error_data_path(config.error_data_path);
}

Result<void> read_precision(const YAML::Node& node, Config& config) {
  int precision = 0;
  const std::string text = node.IsScalar() && node.Tag() != "!" ? node.Scalar() : "";
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), precision);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorKind::kUsage, "precision must be int type");
  }
  if (precision < 0 || precision > kMaxPrecision) {
    return fail(ErrorKind::kUsage, fmt::format("precision must be between 0 and {}, it is {}",
                                               kMaxPrecision, precision));
  }
  config.precision = precision;
  return {};
}

struct YamlKey {
  std::string_view name;
  Result<void> (*read)(const YAML::Node& node, Config& config);
};
constexpr std::array kKeys = {
    YamlKey{"white_list", &read_white_list},
    YamlKey{"black_list", &read_black_list},
    YamlKey{"error_data_path", &read_error_data_path},
    YamlKey{"precision", &read_precision},
    YamlKey{"quantization_api_list", &read_quantization_list},
};

Result<void> read_key(const std::string& name, const YAML::Node& node, Config& config) {
  std::vector<std::string> known;
  for (const YamlKey& key : kKeys) {
    if (key.name == name) return key.read(node, config);
    known.emplace_back(key.name);
  }
  return fail(ErrorKind::kUsage, fmt::format("{} must be one of {}{}", name, fmt::join(known, ", "),
                                             did_you_mean(name, known)));
}

Result<Config> read_document(const YAML::Node& document) {
  Config config;
  if (document.IsNull()) return config;
  if (!document.IsMap()) return fail(ErrorKind::kUsage, "the keys must be a map type");
  for (const auto& item : document) {
    if (!item.first.IsScalar()) return fail(ErrorKind::kUsage, "a key must be str type");
    const Result<void> read = read_key(item.first.Scalar(), item.second, config);
    if (!read) return propagate(read);
  }
  return config;
}

}  // namespace

Result<Config> read_config_yaml(const fs::path& path) {
  const Result<fs::path> checked = check_input_file(path, {.suffix = ".yaml"});
  if (!checked) return propagate(checked);
  const Result<FileBytes> file = load_file(*checked);
  if (!file) return propagate(file);
  return parse_config_yaml(file->text(), path.string());
}

Result<Config> parse_config_yaml(std::string_view text, std::string_view shown) {
  try {
    const Result<Config> config = read_document(yaml::load(text));
    if (!config) return propagate(config, std::string(shown));
    return config;
  } catch (const YAML::Exception& e) {
    return fail(ErrorKind::kFormat, fmt::format("{}: line {}, column {}: {}", shown,
                                                e.mark.line + 1, e.mark.column + 1, e.msg));
  }
}

}  // namespace msprobe::check
