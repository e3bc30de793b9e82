// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/comparison_run.h"

#include <algorithm>
#include <list>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "core/json_writer.h"
#include "divergence/first_divergence.h"
#include "dump_compare/divergence_search.h"
#include "dump_compare/dump_report.h"
#include "dump_compare/dump_table.h"
#include "tables/output_file.h"

namespace msprobe::dump_compare {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownFailures = 10;

// For the log: one line, of real data.
std::string row_text(const ItemRow& row) {
  using State = RealNumbers::State;
  const RealNumbers& real = row.real;
  const std::string_view outcome = name(row.outcome);
  switch (real.state) {
    case State::kAll:
      return fmt::format(
          "cosine {}, EucDist {}, MaxAbsErr {}, MaxRelativeErr {}, within 0.001 {}: {}",
          real.cosine, real.euclidean_distance, real.max_abs_error, real.max_relative_error,
          real.within_1000, outcome);
    case State::kOneElement:
      return fmt::format("MaxAbsErr {}, MaxRelativeErr {}: {}", real.max_abs_error,
                         real.max_relative_error, outcome);
    case State::kShapes:
      return fmt::format("different shapes: {}", outcome);
    case State::kClasses:
      return fmt::format("NaN or infinities at different positions: {}", outcome);
    case State::kUnsupported:
      break;
  }
  return fmt::format("no tensor data to compare: {}", outcome);
}

class DumpComparison {
 public:
  explicit DumpComparison(const ComparisonOptions& options)
      : options_(options), each_(options.each) {
    each_.cells = options.xlsx;
  }

  Result<ComparisonOutcome> run(const DumpPairs& dumps) {
    for (const std::string& text : dumps.left_out) options_.say(log::Severity::kWarning, text);
    if (!options_.json.empty()) {
      Result<comparison::RowsJson> json = comparison::RowsJson::create(options_.json);
      if (!json) return propagate(json);
      json_.emplace(*std::move(json));
    }
    several_ = dumps.pairs.size() > 1;
    for (const DumpPair& pair : dumps.pairs) {
      if (const auto compared = compare_pair(pair); !compared) {
        // Other ranks are compared all the same; the status tells.
        options_.say(log::Severity::kError, compared.error().message);
        outcome_.has_failed_pair = true;
      }
    }
    if (const auto written = write_rest(dumps); !written) return propagate(written);
    return std::move(outcome_);
  }

 private:
  struct OpenTable {
    DumpPair pair;
    DumpTable table;
  };

  template <class... T>
  void say(fmt::format_string<T...> format, T&&... values) const {
    options_.say(log::Severity::kInfo, fmt::format(format, std::forward<T>(values)...));
  }
  template <class... T>
  void print(fmt::format_string<T...> format, T&&... values) const {
    options_.print(fmt::format(format, std::forward<T>(values)...));
  }

  void log_row(const ItemRow& row) const {
    say("{} compared with {}", dump::item_name(*row.target_entry, *row.target),
        dump::item_name(*row.golden_entry, *row.golden));
    say("{}", row_text(row));
  }

  Result<void> compare_pair(const DumpPair& pair) {
    each_.target = pair.target;
    each_.golden = pair.golden;
    const Result<OpenDumps> dumps = open_dumps(each_);
    if (!dumps) return propagate(dumps);
    DataMode mode = DataMode::kStatistics;
    DumpTable* table = nullptr;
    DumpCompareReport* report = nullptr;
    options_.on_pair();
    DumpCompareEvents events;
    events.on_start = [&](const CompareStart& start) -> Result<void> {
      mode = start.mode;
      say("comparing {}{}: {} entries with {}", name(mode),
          pair.shown.empty() ? "" : " of " + pair.shown, start.target_entries,
          start.golden_entries);
      const std::string stem =
          fmt::format("{}compare_result{}{}_{}", start.is_debug ? "debug_" : "", options_.suffix,
                      pair.suffix, options_.timestamp);
      Result<DumpTable> started = DumpTable::start(options_.out, stem, options_.xlsx, start);
      if (!started) return propagate(started);
      table = &tables_.emplace_back(pair, *std::move(started)).table;
      if (options_.for_report) {
        report = &reports_.emplace_back(pair, start, as_given(pair.target));
        search_.keep_flow();
      }
      has_calls_ = has_calls_ || !start.is_debug;
      if (!start.is_debug) search_.start(pair, as_given(pair.target), start);
      return finish_tables(pair.step);
    };
    events.on_block = [&](std::span<const EntryRows> block) -> Result<void> {
      search_.add(block, mode, each_.threads);
      return json_ ? add_rows(*json_, pair, mode, block, each_.threads) : Result<void>();
    };
    events.on_rows = [&](const EntryRows& rows) -> Result<void> {
      if (report != nullptr) report->add(rows);
      for (const ItemRow& row : rows.rows) {
        keep_failure(pair, row);
        if (options_.log_rows && mode == DataMode::kReal && row.is_matched()) log_row(row);
      }
      table->add(rows);
      return {};
    };
    events.on_progress = [&](std::uint64_t done, std::uint64_t total) {
      options_.show_progress(done, std::max(done, total));
    };
    events.on_note = [&](const std::string& text) { options_.say(log::Severity::kWarning, text); };
    const Result<Totals> totals = compare(*dumps, each_, events);
    if (!totals) {
      if (table != nullptr) tables_.pop_back();
      return propagate(totals);
    }
    outcome_.totals.add(*totals);
    if (several_ && !pair.shown.empty()) print("{}: {}\n", pair.shown, totals_text(*totals));
    return {};
  }

  // The tables of the steps before `step`: where they diverge is known.
  Result<void> finish_tables(std::int64_t step) {
    while (!tables_.empty() && tables_.front().pair.step != step) {
      OpenTable open = std::move(tables_.front());
      tables_.pop_front();
      const Result<std::vector<fs::path>> written =
          open.table.finish([&](std::string_view entry) { return search_.role(open.pair, entry); },
                            rows_for_analysis(open));
      if (!written) return propagate(written);
      written_.insert(written_.end(), written->begin(), written->end());
    }
    return {};
  }

  // Keeps the rows of the calls where the runs diverge, if that is in this table.
  OnRow rows_for_analysis(const OpenTable& open) {
    if (!options_.diff_analyze || !search_.report() || search_.step() != open.pair.step) return {};
    const int rank = static_cast<int>(open.pair.rank);
    for (const divergence::Divergence& origin : search_.report()->origins) {
      if (origin.rank == rank) call_tables_[{rank, origin.target}] = open.table.title_line();
    }
    return [this, rank](std::string_view entry, std::string_view row, std::string_view role) {
      const auto found = call_tables_.find({rank, std::string(entry)});
      if (found != call_tables_.end()) found->second += fmt::format("{},{}\n", row, role);
    };
  }

  // The dump as the user named it: commands that are printed work where this one did.
  std::string as_given(const fs::path& dump) const {
    std::error_code ignored;
    if (!fs::is_directory(options_.target, ignored)) return options_.target;
    const fs::path below = fs::relative(dump, fs::canonical(options_.target, ignored), ignored);
    return ignored ? dump.string() : (fs::path(options_.target) / below).string();
  }

  void keep_failure(const DumpPair& pair, const ItemRow& row) {
    if (row.outcome != Outcome::kError && row.outcome != Outcome::kSkipped) return;
    if (failures_.size() == kShownFailures) return;
    failures_.push_back(
        fmt::format("  {}{}: {}", pair.shown.empty() ? "" : pair.shown + ": ",
                    dump::item_name(*row.target_entry, *row.target),
                    row.messages.empty() ? std::string(name(row.outcome)) : row.messages.front()));
  }

  std::string json_tail(const DumpPairs& dumps) const {
    JsonWriter json;
    json.begin_object();
    json.key("summary").begin_object();
    const Totals& totals = outcome_.totals;
    json.key("rows").value(totals.rows);
    for (std::size_t i = 0; i < static_cast<std::size_t>(Outcome::kUndecided); ++i) {
      json.key(name(static_cast<Outcome>(i))).value(totals.outcomes[i]);
    }
    json.key("golden_only").value(totals.golden_only);
    json.end_object();
    json.key("left_out").begin_array();
    for (const std::string& text : dumps.left_out) json.value(text);
    json.end_array();
    write_divergence(json);
    json.end_object();
    return json.text();
  }

  void write_divergence(JsonWriter& json) const {
    if (search_.report()) {
      json.key("step").value(search_.step());
      divergence::write_json(*search_.report(), json);
    } else {
      json.key("first_divergence").null();
    }
  }

  // -da: the calls where the runs diverge, with their rows, as the public tool lays them out.
  Result<void> write_analysis() {
    const Result<std::string> text = search_.report()
                                         ? analysis_json(*search_.report(), call_tables_)
                                         : Result<std::string>("{}\n");
    if (!text) return propagate(text);
    const fs::path path = options_.out / fmt::format("diff_analyze_{}.json", options_.timestamp);
    Result<tables::OutputFile> file = tables::OutputFile::create(path);
    if (!file) return propagate(file);
    file->buffer() += *text;
    if (const auto done = file->commit(); !done) return propagate(done);
    written_.push_back(path);
    return {};
  }

  // Row by row, which says less than where the runs diverge.
  void print_rows() const {
    if (!failures_.empty()) {
      print("first rows that fail:\n");
      for (const std::string& line : failures_) print("{}\n", line);
    }
    if (!outcome_.has_failed_pair || outcome_.totals.rows > 0) {
      print("{}\n", totals_text(outcome_.totals));
    }
  }

  Result<void> write_rest(const DumpPairs& dumps) {
    search_.finish();
    constexpr std::int64_t kNoStep = -1;
    if (const auto done = finish_tables(kNoStep); !done) return propagate(done);
    for (DumpCompareReport& report : reports_) report.complete(search_);
    if (search_.report()) {
      const std::string text = divergence::describe(*search_.report());
      print("{}{}", text, text.ends_with('\n') ? "" : "\n");
      const auto& first = search_.report()->first;
      for (DumpCompareReport& report : reports_) {
        if (first && report.is_of(search_.step(), first->rank)) {
          report.set_first_divergence(first->target, text.substr(0, text.find('\n')));
        }
      }
    }
    print_rows();
    if (options_.diff_analyze && has_calls_) {
      if (const auto done = write_analysis(); !done) return propagate(done);
    }
    if (json_) {
      if (const auto done = json_->finish(json_tail(dumps)); !done) return propagate(done);
      written_.emplace_back(options_.json);
    }
    for (const fs::path& path : written_) say("Saved comparing results: {}", path.string());
    for (const DumpCompareReport& report : reports_) outcome_.runs.push_back(report.run());
    return {};
  }

  const ComparisonOptions& options_;
  DumpCompareOptions each_;
  std::optional<comparison::RowsJson> json_;
  std::list<OpenTable> tables_;
  DivergenceSearch search_;
  bool several_ = false;    // pairs of dumps, of which each has a line
  bool has_calls_ = false;  // not only saved values, of which nothing diverges first
  std::list<DumpCompareReport> reports_;
  std::vector<std::string> failures_;
  std::vector<fs::path> written_;
  CallTables call_tables_;
  ComparisonOutcome outcome_;
};

}  // namespace

Result<ComparisonOutcome> compare_all(const DumpPairs& dumps, const ComparisonOptions& options) {
  return DumpComparison(options).run(dumps);
}

std::string totals_text(const Totals& totals) {
  std::string text =
      fmt::format("{} rows: {} pass, {} warning, {} error", totals.rows, totals[Outcome::kPass],
                  totals[Outcome::kWarning], totals[Outcome::kError]);
  if (totals[Outcome::kUnmatched] > 0) {
    text += fmt::format(", {} unmatched ({} only in the target, {} only in the golden dump)",
                        totals[Outcome::kUnmatched],
                        totals[Outcome::kUnmatched] - totals.golden_only, totals.golden_only);
  }
  if (totals[Outcome::kSkipped] > 0) {
    text += fmt::format(", {} skipped (data cannot be read)", totals[Outcome::kSkipped]);
  }
  return text;
}

}  // namespace msprobe::dump_compare
