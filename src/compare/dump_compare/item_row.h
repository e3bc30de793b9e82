// SPDX-License-Identifier: Apache-2.0
// A row of the comparison: one item of the target dump, its counterpart, and how they differ.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comparison/outcome.h"
#include "comparison/row_table.h"
#include "dump/entry_reader.h"
#include "dump_compare/item_cells.h"

namespace msprobe::dump_compare {

// What the dumps hold decides the columns and the rules.
enum class DataMode : std::uint8_t { kReal, kStatistics, kMd5 };
std::string_view name(DataMode mode);  // "real data"

using comparison::kOutcomes;
using comparison::Outcome;
std::string_view name(Outcome outcome);  // "pass"

// How the entry of a row found its counterpart.
enum class EntryMatch : std::uint8_t {
  kNone,
  kName,     // equal names
  kOrder,    // the same API; what is left of its backward calls, in order
  kMapping,  // a mapping file says so
  kFuzzy,    // by the sequence of calls, regardless of their numbers
};
std::string_view name(EntryMatch match);  // "name"

// Metrics of a pair of tensor files.
struct RealNumbers {
  enum class State : std::uint8_t {
    kUnsupported,  // no file on a side, or no elements
    kShapes,       // other shapes
    kClasses,      // NaN or infinities at other places
    kOneElement,   // two of the six numbers
    kAll,
  };
  State state = State::kUnsupported;
  double cosine = 0;
  double cosine_distance = 0;  // 1 - cosine, with more digits
  double euclidean_distance = 0;
  double max_abs_error = 0;
  double max_relative_error = 0;
  double within_1000 = 0;
  double within_200 = 0;
  double relative_distance = 0;  // the Euclidean distance, relative to the golden norm
};

struct ItemRow {
  const dump::Entry* target_entry = nullptr;
  const dump::Item* target = nullptr;  // null: only the golden dump has it
  const dump::Entry* golden_entry = nullptr;
  const dump::Item* golden = nullptr;  // null: only the target dump has it
  EntryMatch match = EntryMatch::kNone;
  bool is_first = false;  // of its entry
  bool across = false;    // the dumps are of different frameworks

  std::array<Difference, kStatisticCount> differences;
  RealNumbers real;

  Outcome outcome = Outcome::kPass;
  std::vector<std::string> messages;

  bool is_matched() const { return target != nullptr && golden != nullptr; }
  bool is_output() const { return target != nullptr && target->part == dump::ItemPart::kOutput; }
  const Difference& difference(ItemStatistic statistic) const {
    return differences[static_cast<std::size_t>(statistic)];
  }
};

// The rows of one entry, and what they point to.
struct EntryRows {
  std::unique_ptr<dump::Entry> target;
  std::vector<std::unique_ptr<dump::Entry>> golden;
  std::vector<ItemRow> rows;
  std::string stack;           // of the target's call, as the table shows it; empty: none
  std::string module;          // the module it ran in; empty: not known
  comparison::RowTexts texts;  // of the rows, if a table is wanted
  std::vector<std::uint32_t> golden_left;  // items of the golden entry without counterpart
  bool across = false;                     // the dumps are of different frameworks
  std::string_view known_as;     // the target's entry in the golden dump; empty: its own name
  bool other_gradients = false;  // the sides' results are not the same gradients
  // Gradients of a backward pass that only one side has, as indices of items.
  std::vector<std::uint32_t> target_gradients, golden_gradients;
  std::vector<std::unique_ptr<dump::Entry>> spare;  // memory of entries that are done with

  // Makes room for the rows of another entry, and keeps the memory for them.
  void clear();
};

// One framework records requires_grad and the other does not.
bool lacks_requires_grad(const ItemRow& row);

using comparison::Totals;
void add(Totals& totals, const ItemRow& row);

using ItemColumn = comparison::Column<ItemRow, EntryRows>;

// `stack`: with the column of stacks.
std::vector<ItemColumn> columns_of(DataMode mode, bool stack);

// Fills EntryRows::texts.
void append_texts(EntryRows& entry, std::span<const ItemColumn> columns, bool with_cells);

// Sets outcome and messages of rows that have a counterpart and can be compared; the others have
// theirs already. REQUIRES: all rows of one target entry.
void judge(std::span<ItemRow> rows, DataMode mode);

}  // namespace msprobe::dump_compare
