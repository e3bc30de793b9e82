// SPDX-License-Identifier: Apache-2.0
// Which item of the golden entry belongs to which of the target's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump/entry_reader.h"
#include "dump_compare/mapping.h"

namespace msprobe::dump_compare {

inline constexpr std::uint32_t kNoItem = ~std::uint32_t{0};

// A result of the backward pass of a function: the gradient of one of its arguments.
bool is_api_gradient(const dump::Entry& entry, const dump::Item& item);

struct ItemPairing {
  std::vector<std::uint32_t> golden;  // one per target item: index into the golden items
  // The results of a backward pass are not the same gradients on both sides.
  bool other_gradients = false;
};

// By place. `across`: one side is MindSpore's, so parameters may be called gamma and an argument
// may be positional on one side and a keyword on the other; `rule`: places that a mapping file
// lists, or null.
ItemPairing pair_items(const dump::Entry& target, const dump::Entry& golden, bool across,
                       const ApiRule* rule);

}  // namespace msprobe::dump_compare
