// SPDX-License-Identifier: Apache-2.0
#include "journal/shard.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

namespace msprobe::journal {
namespace {

constexpr std::size_t kMaxShards = 1'000'000;

// The number in the whole of `text`; 0 if there is none.
std::size_t number_in(std::string_view text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end ? number : 0;
}

}  // namespace

Result<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const Shard shard{number_in(text.substr(0, slash)), number_in(text.substr(slash + 1))};
    if (shard.number >= 1 && shard.number <= shard.count && shard.count <= kMaxShards) return shard;
  }
  return fail(ErrorKind::kUsage,
              fmt::format("--shard {}: expected K/N, with K from 1 to N and N at most {}", text,
                          kMaxShards));
}

std::string text(const Shard& shard) { return fmt::format("{}/{}", shard.number, shard.count); }

Positions positions_of(const Shard& shard, std::span<const double> costs) {
  const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
  const auto shares = static_cast<double>(shard.count);
  Positions positions{costs.size(), costs.size()};
  double before = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double middle = before + costs[i] / 2;
    before += costs[i];
    const double share = total > 0 ? middle / total * shares : 0;
    const std::size_t owner = std::min(static_cast<std::size_t>(share), shard.count - 1) + 1;
    if (owner >= shard.number) positions.first = std::min(positions.first, i);
    if (owner > shard.number) {
      positions.end = i;
      break;
    }
  }
  return positions;
}

}  // namespace msprobe::journal
