// SPDX-License-Identifier: Apache-2.0
// config.yaml: what is read keeps to the limits that it documents.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "check/config_yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = msprobe::check::parse_config_yaml(text, "config.yaml");
  if (config && (config->precision < 0 || config->precision > 20)) std::abort();
  if (!config && config.error().message.empty()) std::abort();
  return 0;
}
