// SPDX-License-Identifier: Apache-2.0
#include "torchair/graph_compare.h"

#include <algorithm>
#include <mutex>
#include <span>

#include <fmt/format.h>

#include "comparison/schedule.h"
#include "core/look_up.h"
#include "core/visible_text.h"
#include "dump/printable.h"
#include "torchair/fx_files.h"
#include "torchair/ge_files.h"
#include "torchair/info_file.h"
#include "torchair/real_names.h"
#include "torchair/unit_pairing.h"

namespace msprobe::torchair {
namespace {

// The graph text of the unit before is kept: tokens follow each other.
class GraphOfUnits {
 public:
  void load(const UnitPair& unit, std::vector<std::string>& notes, DumpFiles& files) {
    if (graph_ && path_ == unit.graph_file) return;
    path_ = unit.graph_file;
    graph_.emplace(load_graph(unit, notes, files));
    stacks_.clear();
    if (!path_) return;
    Result<StackInfo> stacks = read_stack_info(*path_, files);
    if (!stacks) return files.note_unread(stacks.error().message);
    stacks_ = std::move(*stacks);
  }
  const GraphIndex& graph() const { return *graph_; }
  const StackInfo& stacks() const { return stacks_; }

 private:
  std::optional<fs::path> path_;
  std::optional<GraphIndex> graph_;
  StackInfo stacks_;
};

class Progress {
 public:
  Progress(std::uint64_t total, const GraphCompareEvents& events)
      : total_(total), events_(events) {}
  void add(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    done_ += bytes;
    if (events_.on_progress) events_.on_progress(done_, total_);
  }

 private:
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::uint64_t total_;
  const GraphCompareEvents& events_;
};

std::uint64_t bytes_in(const fs::path& directory) {
  std::uint64_t bytes = 0;
  const auto entries = list_directory(directory);  // what cannot be read is said elsewhere
  for (const fs::directory_entry& entry : entries.value_or(DirectoryEntries())) {
    std::error_code ignored;
    const std::uintmax_t size = entry.file_size(ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

// Forgets the files of a unit, but for those that a later one is compared with.
void leave(DumpFiles& files, const UnitPair& unit, std::span<const UnitPair> later) {
  files.leave(unit.device);
  if (std::ranges::find(later, unit.bench, &UnitPair::bench) == later.end()) {
    files.leave(unit.bench);
  }
}

// Names come from files and may hold any bytes; tables, JSON and XML may not.
void make_printable(std::string& text) { text = visible_text(text); }

void make_printable(TensorRow& row) {
  for (std::string* text :
       {&row.op, &row.type, &row.file, &row.stack, &row.reason, &row.problem, &row.message}) {
    make_printable(*text);
  }
  if (row.bench) make_printable(row.bench->shown);
}

// Whether the first converted file that can be read holds minimum and maximum.
std::optional<bool> info_is_range(const fs::path& path, bool is_array, DumpFiles& files) {
  const Result<FileBytes> file = files.load(path);
  if (!file) {
    files.note_unread(file.error().message);
    return std::nullopt;
  }
  const std::string name = path.filename().string();
  if (is_array) {
    const Result<InfoValues> values = read_info_array(*file, name);
    return values && !values->empty() ? std::optional(is_range(*values)) : std::nullopt;
  }
  const Result<InfoFile> info = read_info_file(*file, name);
  if (!info) return std::nullopt;
  for (const auto* side : {&info->outputs, &info->inputs}) {
    for (const InfoValues& values : *side) {
      if (!values.empty()) return is_range(values);
    }
  }
  return std::nullopt;
}

// Nothing: every file holds data.
std::optional<GraphMode> mode_of_directory(const fs::path& directory, bool is_fx,
                                           DumpFiles& files) {
  const RealNames real_names(directory, files);
  const auto entries = list_directory(directory);
  if (!entries) files.note_unread(entries.error().message);
  for (const fs::directory_entry& entry : entries.value_or(DirectoryEntries())) {
    const std::string name = real_names.of(entry.path().filename().string());
    bool is_info = false;
    if (is_fx) {
      const auto parsed = parse_fx_name(name);
      is_info = parsed && parsed->array.is_info;
    } else {
      const auto parsed = ge::parse_file_name(name);
      if (parsed && parsed->kind == ge::FileKind::kStatistics) return GraphMode::kStatistics;
      is_info = parsed ? parsed->kind == ge::FileKind::kInfo
                       : ge::is_hashed_name(name) && name.ends_with(".npz");
    }
    if (!is_info || has_original(entry.path())) continue;
    if (const auto range = info_is_range(entry.path(), is_fx, files)) {
      return *range ? GraphMode::kStatistics : GraphMode::kReal;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<CompareTotals> compare(const GraphCompareOptions& options,
                              const GraphCompareEvents& events) {
  DumpFiles files;
  const Result<UnitPlan> plan = make_plan(options.plan, files);
  if (!plan) return propagate(plan);
  const GraphMode mode = options.mode ? *options.mode : find_mode(*plan, files);
  if (events.on_plan) events.on_plan(*plan, mode);
  std::uint64_t total = 0;
  for (const UnitPair& unit : plan->pairs) total += bytes_in(unit.device);
  Progress progress(total, events);
  GraphOfUnits graphs;
  CompareTotals totals;
  const auto report_unread = [&] {
    for (const std::string& text : files.take_unread()) {
      if (events.on_note) events.on_note(text);
      ++totals.unread;
    }
  };
  std::size_t done = 0;
  for (const UnitPair& unit : plan->pairs) {
    std::vector<std::string> notes;
    graphs.load(unit, notes, files);
    UnitPairing pairing =
        pair_unit(unit, plan->bench_is_fx, graphs.graph(), graphs.stacks(), options.threads, files);
    notes.insert(notes.end(), pairing.notes.begin(), pairing.notes.end());
    report_unread();
    for (const std::string& note : notes) {
      if (events.on_note) events.on_note(note);
    }
    for (std::string& name : pairing.bench_only) make_printable(name);
    if (events.on_bench_only && !pairing.bench_only.empty()) {
      events.on_bench_only(unit, pairing.bench_only);
    }
    std::vector<OpRows*> ops;
    for (OpRows& op : pairing.ops) ops.push_back(&op);
    comparison::schedule(
        std::span<OpRows* const>(ops), options.threads,
        [](const OpRows& op) { return op.bytes >= comparison::kLargeFile; },
        [&](OpRows& op, int threads) {
          measure_op(op, {mode, threads, options.places}, files);
          progress.add(op.bytes);
        });
    for (std::uint32_t i = 0; i < pairing.ops.size(); ++i) {
      OpRows& op = pairing.ops[i];
      for (TensorRow& row : op.rows) {
        judge(row, mode, options.limits);
        make_printable(row);
        totals.add(row.outcome);
        totals.differing += row.differs ? 1 : 0;
        const Result<bool> taken = events.on_row(row);
        if (!taken) return propagate(taken);
      }
      if (events.on_op) events.on_op(op, i);
    }
    leave(files, unit, std::span(plan->pairs).subspan(++done));
  }
  return totals;
}

GraphMode find_mode(const UnitPlan& plan, DumpFiles& files) {
  for (const UnitPair& unit : plan.pairs) {
    if (const auto mode = mode_of_directory(unit.device, false, files)) return *mode;
    if (const auto mode = mode_of_directory(unit.bench, plan.bench_is_fx, files)) return *mode;
  }
  return GraphMode::kReal;
}

}  // namespace msprobe::torchair
