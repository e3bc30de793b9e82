// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/item_row.h"

namespace msprobe::dump_compare {

std::string_view name(DataMode mode) {
  constexpr std::array<std::string_view, 3> kNames{"real data", "statistics", "checksums"};
  return kNames[static_cast<std::size_t>(mode)];
}

std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, kOutcomes> kNames{"pass",      "warning", "error",
                                                           "unmatched", "skipped", "undecided"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string_view name(EntryMatch match) {
  constexpr std::array<std::string_view, 5> kNames{"N/A", "name", "order", "mapping", "fuzzy"};
  return kNames[static_cast<std::size_t>(match)];
}

void EntryRows::clear() {
  if (target) spare.push_back(std::move(target));
  for (std::unique_ptr<dump::Entry>& entry : golden) spare.push_back(std::move(entry));
  golden.clear();
  rows.clear();
  stack.clear();
  module.clear();
  texts.clear();
  golden_left.clear();
  across = false;
  known_as = {};
  other_gradients = false;
  target_gradients.clear();
  golden_gradients.clear();
}

bool lacks_requires_grad(const ItemRow& row) {
  if (!row.across || !row.is_matched()) return false;
  return row.target->requires_grad.has_value() != row.golden->requires_grad.has_value();
}

void add(Totals& totals, const ItemRow& row) {
  totals.add(row.outcome);
  if (row.target == nullptr) ++totals.golden_only;
}

}  // namespace msprobe::dump_compare
