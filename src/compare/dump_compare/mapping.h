// SPDX-License-Identifier: Apache-2.0
// The mapping files of a comparison: what is called otherwise in the two dumps.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace msprobe::dump_compare {

// Items: target item name -> golden item name.
using DataMapping = std::map<std::string, std::string>;

Result<DataMapping> read_data_mapping(const std::filesystem::path& path);

// Modules: "path.Class", or a part of it, of the target -> of the golden dump.
class CellMapping {
 public:
  CellMapping() = default;
  explicit CellMapping(std::vector<std::pair<std::string, std::string>> rules)
      : rules_(std::move(rules)) {}

  // The golden name of an entry: cells become modules; a module listed whole is replaced, of any
  // other each listed part that it holds, once, in the order of the file.
  std::string entry(std::string_view target) const;

 private:
  std::vector<std::pair<std::string, std::string>> rules_;
};

Result<CellMapping> read_cell_mapping(const std::filesystem::path& path);

// Layers: for a class of the target (TopLayer: the model itself), the paths below it -> the paths
// of the golden dump.
class LayerMapping {
 public:
  using Children = std::vector<std::pair<std::string, std::string>>;

  LayerMapping() = default;
  explicit LayerMapping(std::map<std::string, Children, std::less<>> layers)
      : layers_(std::move(layers)) {}

  // The golden path of a module. `class_of` a path of the target: its class, empty if unknown.
  // Below each module the longest of its class's paths that fits is replaced; one part of the path
  // is kept as it is if none fits.
  std::string path(std::string_view target,
                   const std::function<std::string_view(std::string_view path)>& class_of) const;

 private:
  std::map<std::string, Children, std::less<>> layers_;
};

Result<LayerMapping> read_layer_mapping(const std::filesystem::path& path);

// An API of MindSpore and the one of PyTorch that does the same, and which of their arguments and
// results belong together, by their place.
struct ApiRule {
  std::string target;  // "Functional.dense"
  std::string golden;  // "Functional.linear"
  std::vector<std::pair<int, int>> inputs, outputs;

  // The golden place of "input.1"; empty: not listed.
  std::string place(std::string_view target_place) const;
};

class ApiMapping {
 public:
  ApiMapping() = default;
  explicit ApiMapping(std::vector<ApiRule> rules) : rules_(std::move(rules)) {}

  // Null: not listed.
  const ApiRule* find(std::string_view target_api) const;

 private:
  std::vector<ApiRule> rules_;
};

Result<ApiMapping> read_api_mapping(const std::filesystem::path& path);

}  // namespace msprobe::dump_compare
