// SPDX-License-Identifier: Apache-2.0
// One part of a check that several machines share without knowing of each other.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace msprobe::journal {

// Shard `number` of `count`, from 1 on; 1 of 1 is the whole.
struct Shard {
  std::size_t number = 1;
  std::size_t count = 1;

  bool whole() const { return count == 1; }
  bool operator==(const Shard&) const = default;
};

// "2/5"
Result<Shard> parse_shard(std::string_view text);
std::string text(const Shard& shard);

struct Positions {
  std::size_t first = 0;
  std::size_t end = 0;
  bool operator==(const Positions&) const = default;
};

// The shard's calls: consecutive ones, so that the shards' rows one behind the other are those of
// the whole check. A call belongs to the shard whose share of the total cost contains its middle.
Positions positions_of(const Shard& shard, std::span<const double> costs);

}  // namespace msprobe::journal
