// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/compare_dumps.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "comparison/schedule.h"
#include "core/look_up.h"
#include "core/python_text.h"
#include "dump/construct_json.h"
#include "dump/printable.h"
#include "dump/stack_json.h"
#include "dump_compare/entry_pairing.h"
#include "dump_compare/golden_names.h"
#include "dump_compare/item_row.h"
#include "dump_compare/real_data.h"
#include "measure/chunks.h"

namespace msprobe::dump_compare {
namespace {

namespace fs = std::filesystem;
using dump::Entry;
using dump::EntryIndex;
using dump::Item;

// Entries that are worked on together: enough that starting the threads is cheap, little memory.
constexpr std::size_t kBlockEntries = 2048;

constexpr std::string_view kNoGradient = "the golden dump has no such gradient";
constexpr std::string_view kOtherGradients =
    "PyTorch recorded the gradients of an autograd node inside the function, not those of its "
    "arguments";

struct Side {
  const EntryIndex& index;
  std::string name;  // in messages
};

class Comparison {
 public:
  Comparison(const OpenDumps& dumps, const DumpCompareOptions& options,
             const DumpCompareEvents& events)
      : options_(options),
        events_(events),
        target_{dumps.target, options.target.string()},
        golden_{dumps.golden, options.golden.string()} {}

  Result<Totals> run() {
    note_odd_keys(target_);
    note_odd_keys(golden_);
    if (const auto started = start(); !started) return propagate(started);
    pairing_ = pair();
    const std::size_t targets = pairing_.pairs.size();
    for (const std::uint32_t entry : pairing_.golden_only) left_.push_back({entry, 0, {}});
    const auto of_target = [&](std::size_t i, EntryRows& out) { target_rows(i, out); };
    if (const auto done = hand_out(targets, of_target); !done) return propagate(done);
    std::ranges::stable_sort(left_, {}, &GoldenLeft::entry);
    const auto of_golden = [&](std::size_t i, EntryRows& out) { golden_rows(left_[i], out); };
    if (const auto done = hand_out(left_.size(), of_golden); !done) return propagate(done);
    return totals_;
  }

 private:
  // An entry that only the golden dump has, or items of one that has a counterpart.
  struct GoldenLeft {
    std::uint32_t entry;
    std::uint32_t target;              // its counterpart, if there are items
    std::vector<std::uint32_t> items;  // empty: all of an entry without counterpart
  };

  // Makes, measures and judges rows_of(0, ..) .. rows_of(count - 1, ..), block by block, in order.
  template <class RowsOf>
  Result<void> hand_out(std::size_t count, const RowsOf& rows_of) {
    for (std::size_t first = 0; first < count; first += kBlockEntries) {
      const std::size_t n = std::min(kBlockEntries, count - first);
      const std::span<EntryRows> block = std::span(block_).first(n);
      const bool has_files = start_.mode == DataMode::kReal;
      const auto conclude = [&](EntryRows& rows) {
        judge(rows.rows, start_.mode);
        if (options_.texts) append_texts(rows, start_.columns, options_.cells);
      };
      measure::spread(n, options_.threads, [&](std::size_t i) {
        block[i].clear();
        rows_of(first + i, block[i]);
        if (!has_files) conclude(block[i]);
      });
      if (has_files) {
        measure_all(block);
        measure::spread(n, options_.threads, [&](std::size_t i) { conclude(block[i]); });
      }
      if (events_.on_block) {
        if (const auto taken = events_.on_block(block); !taken) return propagate(taken);
      }
      for (std::size_t i = 0; i < n; ++i) {
        EntryRows& rows = block[i];
        for (const ItemRow& row : rows.rows) add(totals_, row);
        if (!rows.golden_left.empty()) {
          const auto target = static_cast<std::uint32_t>(first + i);
          left_.push_back({pairing_.pairs[target].golden, target, std::move(rows.golden_left)});
        }
        if (const auto taken = events_.on_rows(rows); !taken) return propagate(taken);
      }
      if (events_.on_progress) events_.on_progress(done_ += n, start_.target_entries);
    }
    return {};
  }

  void note_odd_keys(const Side& side) const {
    if (!events_.on_note) return;
    if (side.index.odd_key_count > 0) {
      events_.on_note(fmt::format("{}: {} keys are not names of calls and are left out, such as {}",
                                  side.name, side.index.odd_key_count,
                                  side.index.odd_keys.front()));
    }
    if (!side.index.repeated_keys.empty()) {
      events_.on_note(fmt::format("{}: duplicate entry {}; the last one is used", side.name,
                                  side.index.repeated_keys.front()));
    }
  }

  Result<void> start() {
    const Result<Frameworks> frameworks = frameworks_of(target_.index, golden_.index, options_);
    if (!frameworks) return propagate(frameworks);
    frameworks_ = *frameworks;
    const Result<DataMode> mode = mode_of(target_.index, golden_.index, options_);
    if (!mode) return propagate(mode);
    start_.mode = *mode;
    start_.is_debug = target_.index.level == kDebugLevel;
    if (const auto opened = open_companions(); !opened) return propagate(opened);
    if (*mode == DataMode::kReal) {
      if (const auto opened = files_.open(options_.target, options_.golden, options_.products);
          !opened) {
        return propagate(opened);
      }
    }
    start_.has_stacks = stacks_ != nullptr;
    start_.columns = columns_of(*mode, start_.has_stacks);
    start_.target_entries = target_.index.entries.size();
    start_.golden_entries = golden_.index.entries.size();
    return events_.on_start ? events_.on_start(start_) : Result<void>();
  }

  Result<void> open_companions() {
    const fs::path directory = options_.target.parent_path();
    if (options_.stack_mode != StackMode::kOff) {
      const fs::path path =
          options_.stack_json.empty() ? directory / "stack.json" : options_.stack_json;
      const bool wanted =
          options_.stack_mode == StackMode::kRequired || !options_.stack_json.empty();
      const Result<bool> there = is_there(path);
      if (wanted || !there || *there) {
        Result<dump::StackIndex> stacks = dump::open_stacks(path);
        if (!stacks) return propagate(stacks);
        if (!stacks->note().empty() && events_.on_note) events_.on_note(stacks->note());
        stacks_ = std::make_shared<const dump::StackIndex>(*std::move(stacks));
        if (options_.stack_json.empty()) start_.open.stacks = stacks_;
      }
    }
    const fs::path construct = directory / "construct.json";
    if (const Result<bool> there = is_there(construct); !there || *there) {
      Result<dump::ConstructIndex> modules = dump::open_construct(construct);
      if (modules) {
        start_.open.modules = std::make_shared<const dump::ConstructIndex>(*std::move(modules));
      } else if (events_.on_note) {
        events_.on_note(fmt::format("{}; rows have no module", modules.error().message));
      }
    }
    return {};
  }

  // Only names of another framework need them.
  std::optional<dump::ConstructIndex> modules_of_golden() const {
    std::error_code ignored;
    const fs::path construct = options_.golden.parent_path() / "construct.json";
    if (!frameworks_.names_differ() || !fs::exists(construct, ignored)) return std::nullopt;
    Result<dump::ConstructIndex> modules = dump::open_construct(construct);
    if (!modules || modules->size() == 0) return std::nullopt;
    return *std::move(modules);
  }

  EntryPairing pair() {
    NameRules rules{.cells_are_modules = frameworks_.differ(),
                    .mindspore_apis = frameworks_.names_differ()};
    if (options_.cell_mapping) rules.cells = &*options_.cell_mapping;
    if (options_.layer_mapping) rules.layers = &*options_.layer_mapping;
    if (options_.api_mapping) rules.apis = &*options_.api_mapping;
    const std::optional<dump::ConstructIndex> golden_modules = modules_of_golden();
    if (start_.open.modules && golden_modules) {
      rules.target_modules = start_.open.modules.get();
      rules.golden_modules = &*golden_modules;
    }
    names_ = golden_names(target_.index, golden_.index, rules);
    EntryPairing pairing = options_.fuzzy ? pair_by_sequence(target_.index, golden_.index,
                                                             start_.mode == DataMode::kMd5, names_)
                                          : pair_by_name(target_.index, golden_.index, names_);
    if (options_.data_mapping) {
      for (std::uint32_t i = 0; i < golden_.index.entries.size(); ++i) {
        golden_names_.emplace(golden_.index.entries[i].name, i);
      }
      for (const auto& [target, golden] : *options_.data_mapping) mapped_items_.insert(golden);
    }
    return pairing;
  }

  // Reads an entry; a broken one becomes a single item that says so.
  static std::unique_ptr<Entry> read(const Side& side, std::size_t at, EntryRows& out,
                                     std::string& fault) {
    static thread_local dump::EntryReader reader;
    std::unique_ptr<Entry> entry;
    if (out.spare.empty()) {
      entry = std::make_unique<Entry>();
    } else {
      entry = std::move(out.spare.back());
      out.spare.pop_back();
    }
    if (const auto done = reader.read(side.index.entries[at], side.name, *entry); !done) {
      fault = done.error().message;
      entry->items.clear();
      entry->items.emplace_back();
    }
    return entry;
  }

  void target_rows(std::size_t at, EntryRows& out) const {
    std::string fault;
    out.target = read(target_, at, out, fault);
    out.across = frameworks_.differ();
    if (!names_.empty()) out.known_as = names_[at];
    const EntryPair& pair = pairing_.pairs[at];
    const Entry* golden = nullptr;
    if (pair.golden != kNoEntry) {
      out.golden.push_back(read(golden_, pair.golden, out, fault));
      golden = out.golden.back().get();
    }
    describe(out);
    ItemPairing items;
    if (golden != nullptr && fault.empty()) {
      const ApiRule* const rule = rules_of(*out.target);
      items = pair_items(*out.target, *golden, out.across, rule);
      out.other_gradients = items.other_gradients;
    }
    out.rows.reserve(out.target->items.size());
    for (std::size_t i = 0; i < out.target->items.size(); ++i) {
      const Item& item = out.target->items[i];
      ItemRow& row = out.rows.emplace_back();
      row.across = out.across;
      row.target_entry = out.target.get();
      row.target = &item;
      row.is_first = out.rows.size() == 1;
      if (!fault.empty()) {
        row.outcome = Outcome::kSkipped;
        row.messages.push_back(fault);
        continue;
      }
      match(row, out, golden, pair, items.golden.empty() ? kNoItem : items.golden[i]);
    }
    if (golden == nullptr || !fault.empty()) return;
    out.golden_left = items_left(items, *golden);
    if (out.across) list_lone_gradients(out, items, *golden);
  }

  static void list_lone_gradients(EntryRows& out, const ItemPairing& items, const Entry& golden) {
    for (std::uint32_t i = 0; i < out.target->items.size(); ++i) {
      if (items.golden[i] == kNoItem && is_api_gradient(*out.target, out.target->items[i])) {
        out.target_gradients.push_back(i);
      }
    }
    for (const std::uint32_t i : out.golden_left) {
      if (is_api_gradient(golden, golden.items[i])) out.golden_gradients.push_back(i);
    }
  }

  const ApiRule* rules_of(const Entry& target) const {
    return options_.api_mapping ? options_.api_mapping->find(target.parts.owner) : nullptr;
  }

  void match(ItemRow& row, EntryRows& out, const Entry* golden, const EntryPair& pair,
             std::uint32_t item) const {
    if (options_.data_mapping) {
      const auto mapped =
          options_.data_mapping->find(dump::item_name(*row.target_entry, *row.target));
      if (mapped != options_.data_mapping->end()) return match_mapped(row, out, mapped->second);
    }
    if (golden == nullptr) {
      set_unmatched(row, fmt::format("the golden dump has no {}", row.target_entry->name));
      return;
    }
    if (item != kNoItem) return set_matched(row, *golden, golden->items[item], pair.match);
    if (out.across && is_api_gradient(*row.target_entry, *row.target)) {
      set_unmatched(row, std::string(out.other_gradients ? kOtherGradients : kNoGradient));
      return;
    }
    set_unmatched(row,
                  fmt::format("{} of the golden dump has no {}", golden->name, row.target->place));
  }

  void match_mapped(ItemRow& row, EntryRows& out, const std::string& name) const {
    for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = name.rfind('.', dot - 1)) {
      const auto found = golden_names_.find(std::string_view(name).substr(0, dot));
      if (found == golden_names_.end()) continue;
      std::string fault;
      out.golden.push_back(read(golden_, found->second, out, fault));
      const Entry& entry = *out.golden.back();
      for (const Item& item : entry.items) {
        if (fault.empty() && dump::item_name(entry, item) == name) {
          return set_matched(row, entry, item, EntryMatch::kMapping);
        }
      }
      break;
    }
    set_unmatched(row,
                  fmt::format("the mapping names {}, which the golden dump does not have", name));
  }

  static void set_matched(ItemRow& row, const Entry& entry, const Item& item, EntryMatch match) {
    row.golden_entry = &entry;
    row.golden = &item;
    row.match = match;
    for (std::size_t i = 0; i < kStatisticCount; ++i) {
      const auto statistic = static_cast<ItemStatistic>(i);
      row.differences[i] =
          difference_of(statistic_of(row.target, statistic), statistic_of(row.golden, statistic));
    }
    if (row.across && same_dtype_argument(*row.target, *row.golden)) {
      row.differences.fill({Difference::Kind::kNone});
    }
  }

  static void set_unmatched(ItemRow& row, std::string reason) {
    row.outcome = Outcome::kUnmatched;
    row.messages.push_back("unmatched: " + std::move(reason));
  }

  // Items of a paired entry that the target's entry lacks. They come at the end, with the other
  // ones that only the golden dump has.
  static std::vector<std::uint32_t> items_left(const ItemPairing& items, const Entry& golden) {
    std::vector<bool> used(golden.items.size());
    for (const std::uint32_t item : items.golden) {
      if (item != kNoItem) used[item] = true;
    }
    std::vector<std::uint32_t> left;
    for (std::uint32_t i = 0; i < used.size(); ++i) {
      if (!used[i]) left.push_back(i);
    }
    return left;
  }

  // Whole entries, or items of paired ones.
  void golden_rows(const GoldenLeft& left, EntryRows& out) const {
    std::string fault;
    out.golden.push_back(read(golden_, left.entry, out, fault));
    const Entry& entry = *out.golden.back();
    const auto add_row = [&](const Item& item, std::string reason) {
      if (mapped_items_.contains(dump::item_name(entry, item))) return;
      ItemRow& row = out.rows.emplace_back();
      row.golden_entry = &entry;
      row.golden = &item;
      set_unmatched(row, std::move(reason));
    };
    if (left.items.empty()) {
      for (const Item& item : entry.items) {
        add_row(item, fmt::format("the target dump has no {}", entry.name));
      }
    }
    for (const std::uint32_t i : left.items) {
      add_row(entry.items[i],
              fmt::format("{} of the target dump has no {}",
                          target_.index.entries[left.target].name, entry.items[i].place));
    }
  }

  // The stack and the module of the target's call.
  void describe(EntryRows& out) const {
    if (start_.open.modules) out.module = start_.open.modules->parent(out.target->name);
    if (!stacks_) return;
    const auto frames = stacks_->frames(out.target->name);
    if (!frames || frames->empty()) return;
    out.stack = "[";
    for (std::size_t i = 0; i < frames->size(); ++i) {
      if (i > 0) out.stack += ", ";
      append_python_string(out.stack, (*frames)[i]);
    }
    out.stack += ']';
  }

  void measure_all(std::span<EntryRows> block) const {
    std::vector<ItemRow*> matched;
    for (EntryRows& rows : block) {
      for (ItemRow& row : rows.rows) {
        if (row.is_matched()) matched.push_back(&row);
      }
    }
    comparison::schedule(std::span<ItemRow* const>(matched), options_.threads, is_large,
                         [&](ItemRow& row, int threads) { files_.measure(row, threads); });
  }

  const DumpCompareOptions& options_;
  const DumpCompareEvents& events_;
  Side target_;
  Side golden_;
  CompareStart start_;
  Frameworks frameworks_;
  std::vector<std::string> names_;  // of the target's entries in the golden dump; empty: the same
  EntryPairing pairing_;
  std::unordered_map<std::string_view, std::uint32_t> golden_names_;
  std::shared_ptr<const dump::StackIndex> stacks_;
  std::unordered_set<std::string> mapped_items_;  // golden items that a mapping names
  std::vector<GoldenLeft> left_;
  std::vector<EntryRows> block_ = std::vector<EntryRows>(kBlockEntries);
  RealData files_;
  Totals totals_;
  std::uint64_t done_ = 0;
};

}  // namespace

Result<OpenDumps> open_dumps(const DumpCompareOptions& options) {
  std::array<std::optional<Result<EntryIndex>>, 2> sides;
  measure::spread(2, options.threads, [&](std::size_t i) {
    sides[i] = dump::open_entries(i == 0 ? options.target : options.golden);
  });
  for (const auto& side : sides) {
    if (!*side) return propagate(*side);
  }
  return OpenDumps{**std::move(sides[0]), **std::move(sides[1])};
}

Result<Totals> compare(const OpenDumps& dumps, const DumpCompareOptions& options,
                       const DumpCompareEvents& events) {
  return Comparison(dumps, options, events).run();
}

}  // namespace msprobe::dump_compare
