// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/mapping.h"

#include <algorithm>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "core/file.h"
#include "dump/entry_name.h"

namespace msprobe::dump_compare {
namespace {

constexpr std::size_t kMaxMappingBytes = std::size_t{1} << 30;

using Rules = std::vector<std::pair<std::string, std::string>>;

// A flat YAML object of texts, in file order.
Result<Rules> read_rules(const std::filesystem::path& path) {
  const Result<FileBytes> file = load_file(path, kMaxMappingBytes);
  if (!file) return propagate(file);
  Rules rules;
  try {
    const YAML::Node root = YAML::Load(std::string(file->text()));
    if (root.IsNull()) {
      return fail(ErrorKind::kUsage, fmt::format("{}: the mapping is empty", path.string()));
    }
    if (!root.IsMap()) {
      return fail(ErrorKind::kFormat,
                  fmt::format("{}: expected an object, target name: golden name", path.string()));
    }
    for (const auto& row : root) {
      if (!row.first.IsScalar() || !row.second.IsScalar()) {
        return fail(ErrorKind::kFormat,
                    fmt::format("{}: line {}: expected target name: golden name", path.string(),
                                row.first.Mark().line + 1));
      }
      rules.emplace_back(row.first.Scalar(), row.second.Scalar());
    }
  } catch (const YAML::Exception& error) {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: line {}: {}", path.string(), error.mark.line + 1, error.msg));
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

}  // namespace msprobe::dump_compare
