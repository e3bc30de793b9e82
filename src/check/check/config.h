// SPDX-License-Identifier: Apache-2.0
// config.yaml, and the section "acc_check" of a config.json that replaces its lists.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace msprobe::check {

struct Config {
  std::vector<std::string> white_list;
  std::vector<std::string> black_list;
  std::filesystem::path error_data_path = "./";
  int precision = 14;  // decimals of a floating-point cell
  std::vector<std::string> quantization_api_list = {
      "npu_dynamic_quant", "npu_quant_lightning_indexer", "npu_rms_norm_dynamic_quant"};
  std::vector<std::string> warnings = {};  // of config.json: what has no effect, for the user
};

// Where config.yaml may be, from the most to the least particular.
struct ConfigPlaces {
  std::optional<std::filesystem::path> option = {};       // --config-yaml
  std::optional<std::filesystem::path> environment = {};  // $MSPROBE_CONFIG
  std::filesystem::path program = {};                     // the running msprobe; empty: unknown
};

// The first of: the option, the environment, the Python package around or beside the program, the
// installation's share/msprobe. What the user names is returned whether it exists or not.
std::optional<std::filesystem::path> find_config_yaml(const ConfigPlaces& places);

Result<Config> read_config_yaml(const std::filesystem::path& path);

// Takes white_list, black_list and error_data_path from the section, the defaults where the section
// or the key is missing; the rest of `config` stays.
Result<Config> with_config_json(Config config, const std::filesystem::path& path);

}  // namespace msprobe::check
