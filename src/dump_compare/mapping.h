// SPDX-License-Identifier: Apache-2.0
// The mapping files of a comparison: what is called otherwise in the two dumps.
#pragma once

#include <filesystem>
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

}  // namespace msprobe::dump_compare
