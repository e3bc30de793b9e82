// SPDX-License-Identifier: Apache-2.0
// What the positional arguments of a call are called: "input", "weight", "bias".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe::ops {

// A name for each of `count` positional arguments of a call of `api` ("Functional.linear"); a
// position without a known name has its number.
std::vector<std::string> parameter_names(std::string_view api, std::size_t count);

struct ParameterNames {
  std::string_view api;
  std::string_view names;  // with spaces between them; see parameter_names_table.cc
};
std::span<const ParameterNames> parameter_names_table();

}  // namespace msprobe::ops
