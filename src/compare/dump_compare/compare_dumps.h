// SPDX-License-Identifier: Apache-2.0
// Two dumps, item by item: pair, measure, judge, emit rows in order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "divergence/place.h"
#include "dump/entry_index.h"
#include "dump/framework.h"
#include "dump_compare/entry_pairing.h"
#include "dump_compare/item_row.h"
#include "dump_compare/mapping.h"
#include "dump_compare/matrix_products.h"

namespace msprobe::dump_compare {

// The level of a recording of values that the training saved.
inline constexpr std::string_view kDebugLevel = "debug";

// Whether the table has a column of stacks.
enum class StackMode : std::uint8_t {
  kAutomatic,  // if stack.json is beside the target's dump.json
  kRequired,
  kOff,
};

struct DumpCompareOptions {
  std::filesystem::path target;  // dump.json
  std::filesystem::path golden;
  bool fuzzy = false;
  std::optional<DataMapping> data_mapping;
  std::optional<CellMapping> cell_mapping;
  std::optional<LayerMapping> layer_mapping;
  std::optional<ApiMapping> api_mapping;  // of a MindSpore target and a PyTorch golden dump
  std::shared_ptr<const MatrixProducts> products;  // null: tensors are compared as they are
  StackMode stack_mode = StackMode::kAutomatic;
  std::filesystem::path stack_json;  // empty: beside the target
  int threads = 1;
  bool texts = true;   // fill EntryRows::texts
  bool cells = false;  // with the cells of a workbook
};

// The two dumps of a comparison.
struct OpenDumps {
  dump::EntryIndex target;
  dump::EntryIndex golden;
};
Result<OpenDumps> open_dumps(const DumpCompareOptions& options);

// What is known before the first row.
struct CompareStart {
  DataMode mode = DataMode::kStatistics;
  bool is_debug = false;  // values that the training saved, not calls
  bool has_stacks = false;
  std::vector<ItemColumn> columns;
  divergence::Companions open;  // of the target: what is beside its dump.json
  std::size_t target_entries = 0;
  std::size_t golden_entries = 0;
};

// Callbacks invoked during a comparison.
struct DumpCompareEvents {
  std::function<Result<void>(const CompareStart& start)> on_start;
  // The entries that on_rows gets next, up to some thousand at a time: for work that takes threads.
  std::function<Result<void>(std::span<const EntryRows> block)> on_block;
  std::function<Result<void>(const EntryRows& rows)> on_rows;  // in order; an error ends the run
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress;  // entries
  std::function<void(const std::string& text)> on_note;
};

// Rows come in the order of the target dump; rows of entries that only the golden dump has come
// last. An error is a fault of the input as a whole.
Result<Totals> compare(const OpenDumps& dumps, const DumpCompareOptions& options,
                       const DumpCompareEvents& events);

// The frameworks that made the two dumps.
struct Frameworks {
  dump::Framework target = dump::Framework::kPyTorch;
  dump::Framework golden = dump::Framework::kPyTorch;

  bool differ() const { return target != golden; }
  bool names_differ() const { return differ() && target == dump::Framework::kMindSpore; }
};
// An error if they cannot be compared with each other.
Result<Frameworks> frameworks_of(const dump::EntryIndex& target, const dump::EntryIndex& golden,
                                 const DumpCompareOptions& options);

// The mode of two dumps; an error if they cannot be compared with each other.
Result<DataMode> mode_of(const dump::EntryIndex& target, const dump::EntryIndex& golden,
                         const DumpCompareOptions& options);

}  // namespace msprobe::dump_compare
