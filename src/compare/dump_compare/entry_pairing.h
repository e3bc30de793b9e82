// SPDX-License-Identifier: Apache-2.0
// Pairs the entries and items of the target with those of the golden dump.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dump/entry_index.h"
#include "dump/entry_reader.h"
#include "dump_compare/item_row.h"
#include "dump_compare/mapping.h"

namespace msprobe::dump_compare {

inline constexpr std::uint32_t kNoEntry = ~std::uint32_t{0};

struct EntryPair {
  std::uint32_t golden = kNoEntry;  // index into the golden entries
  EntryMatch match = EntryMatch::kNone;
};

struct EntryPairing {
  std::vector<EntryPair> pairs;            // one per target entry
  std::vector<std::uint32_t> golden_only;  // in file order
};

// Forward calls and gradients pair by name. Backward calls of one API pair by number; those whose
// number the other side lacks pair in file order if there are as many on both sides, so that a run
// that computes its forward calls again still pairs up.
// `names`: what the entries of the target are called in the golden dump (golden_names.h).
EntryPairing pair_by_name(const dump::EntryIndex& target, const dump::EntryIndex& golden,
                          std::span<const std::string> names);

// Fuzzy matching: the sequences of calls are aligned by names, shapes and values, whatever the
// numbers of the calls are. `exact`: by checksums instead of values.
EntryPairing pair_by_sequence(const dump::EntryIndex& target, const dump::EntryIndex& golden,
                              bool exact, std::span<const std::string> names);

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
