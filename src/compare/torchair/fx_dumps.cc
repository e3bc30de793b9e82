// SPDX-License-Identifier: Apache-2.0
#include "torchair/fx_dumps.h"

#include <map>
#include <set>

namespace msprobe::torchair {
namespace {

bool is_mostly_repeated(std::span<const std::string_view> nodes) {
  std::map<std::string_view, std::size_t> times;
  for (const std::string_view node : nodes) ++times[node];
  std::size_t repeated = 0;
  for (const auto& [node, count] : times) repeated += count > 1 ? 1 : 0;
  return 2 * repeated >= times.size();
}

}  // namespace

std::vector<std::size_t> dump_numbers(std::span<const std::string_view> nodes) {
  std::vector<std::size_t> numbers;
  std::size_t restarts = 0;
  for (const std::string_view node : nodes) {
    if (!numbers.empty() && node == nodes.front()) ++restarts;
    numbers.push_back(restarts);
  }
  if (restarts > 0 || !is_mostly_repeated(nodes)) return numbers;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!seen.insert(nodes[i]).second) {
      ++restarts;
      seen = {nodes[i]};
    }
    numbers[i] = restarts;
  }
  return numbers;
}

}  // namespace msprobe::torchair
