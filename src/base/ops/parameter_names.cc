// SPDX-License-Identifier: Apache-2.0
#include "ops/parameter_names.h"

#include <algorithm>

#include "ops/mindspore_names.h"

namespace msprobe::ops {
namespace {

std::string_view names_in_table(std::string_view api) {
  const std::span<const ParameterNames> table = parameter_names_table();
  const auto found = std::ranges::lower_bound(table, api, {}, &ParameterNames::api);
  return found == table.end() || found->api != api ? std::string_view() : found->names;
}

std::string_view names_of(std::string_view api) {
  if (!api.starts_with("Mint")) return names_in_table(api);
  for (const std::string& torch : torch_names_of(api)) {
    if (const std::string_view names = names_in_table(torch); !names.empty()) return names;
  }
  return {};
}

// Every API of these that takes tensors takes one first.
std::string_view first_name(std::string_view api) {
  if (api.starts_with("Tensor.")) return "self";
  for (const std::string_view kind : {"Functional.", "Torch.", "VF.", "Mint.", "MintFunctional."}) {
    if (api.starts_with(kind)) return "input";
  }
  return "-";
}

}  // namespace

std::vector<std::string> parameter_names(std::string_view api, std::size_t count) {
  std::string_view rest = names_of(api);
  if (rest.empty()) rest = first_name(api);
  std::vector<std::string> names;
  while (names.size() < count && !rest.empty()) {
    const std::size_t end = rest.find(' ');
    std::string_view name = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const bool is_list = name.starts_with('*');
    if (is_list) name.remove_prefix(1);
    // Items one by one: x.view(2, 3).
    const bool is_spread = is_list && rest.empty() && names.size() + 1 < count;
    for (std::size_t item = 0; is_spread && names.size() < count; ++item) {
      names.push_back(std::string(name) + "[" + std::to_string(item) + "]");
    }
    if (is_spread) break;
    names.push_back(name == "-" ? std::to_string(names.size()) : std::string(name));
  }
  while (names.size() < count) names.push_back(std::to_string(names.size()));
  return names;
}

}  // namespace msprobe::ops
