// SPDX-License-Identifier: Apache-2.0
// The YAML files of a user: standards, faults of the simulated device, and any other document with
// its aliases written out.
#include <cstdint>
#include <string_view>

#include "documented/standards_file.h"
#include "fuzz_input.h"
#include "sim/rules.h"
#include "yaml/load_yaml.h"

namespace {

// As a reader walks it that follows every alias.
std::uint64_t nodes_of(const YAML::Node& node) {
  std::uint64_t nodes = 1;
  if (node.IsSequence()) {
    for (const auto& item : node) nodes += nodes_of(item);
  } else if (node.IsMap()) {
    for (const auto& item : node) nodes += nodes_of(item.first) + nodes_of(item.second);
  }
  return nodes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msprobe;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 0) static_cast<void>(documented::parse_rules(text, "standards.yaml"));
  if (data[0] % 3 == 1) static_cast<void>(sim::parse_rules(text, "sim.yaml"));
  if (data[0] % 3 == 2) {
    try {
      if (nodes_of(yaml::load(text)) > 2 * yaml::kMostNodes) std::abort();
    } catch (const YAML::Exception&) {
    }
  }
  return 0;
}
