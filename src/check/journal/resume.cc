// SPDX-License-Identifier: Apache-2.0
#include "journal/resume.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/path_check.h"
#include "core/shell_words.h"
#include "journal/map_lines.h"
#include "tables/csv_reader.h"
#include "tables/csv_text.h"

namespace msprobe::journal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kResultCells = 4;

// The rows below the header, up to the one that its writer did not finish.
class WholeRows {
 public:
  // `start`: where the header ends.
  WholeRows(std::string_view text, std::size_t start, const fs::path& path)
      : text_(text), start_(start), reader_(text.substr(start), path.filename().string()) {}

  // False at the end and at a partial row: one without a line end, with an open quote or NUL bytes.
  bool next() {
    const Result<bool> read = reader_.next();
    there_ = read && *read && text_.substr(0, start_ + reader_.offset()).ends_with("\r\n");
    if (there_) end_ = start_ + reader_.offset();
    return there_;
  }
  bool there() const { return there_; }
  const std::vector<std::string_view>& cells() const { return reader_.cells(); }
  std::size_t line() const { return reader_.line() + 1; }
  std::size_t end() const { return end_ == 0 ? start_ : end_; }
  // Where the row at hand starts.
  std::size_t begin() const { return start_ + reader_.record_offset(); }

 private:
  std::string_view text_;
  std::size_t start_;
  tables::CsvReader reader_;
  bool there_ = false;
  std::size_t end_ = 0;
};

// Length of the header; 0 when even that is incomplete.
Result<std::size_t> check_header(std::string_view text, std::string_view header,
                                 const fs::path& path) {
  if (text.starts_with(header)) return header.size();
  if (header.starts_with(text)) return 0;
  return fail(ErrorKind::kUsage,
              fmt::format("{}: its columns are not those of this run; continue with the titles and "
                          "the profile it was made with",
                          path.string()));
}

Result<documented::ResultRow> read_result_row(const WholeRows& rows, const fs::path& path,
                                              const tables::CellStyle& style) {
  const auto& cells = rows.cells();
  documented::ResultRow row;
  bool good = cells.size() == kResultCells;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (!good) break;
    auto& verdict = i == 1 ? row.forward : row.backward;
    verdict = tables::parse_verdict(cells[i], style);
    good = verdict || cells[i] == style.no_verdict;
  }
  if (!good) {
    return fail(ErrorKind::kFormat, fmt::format("{}: line {}: not a row that a check writes",
                                                path.string(), rows.line()));
  }
  row.api_name = tables::without_guard(cells[0]);
  row.message = tables::without_guard(cells[3]);
  return row;
}

// Passes over the details rows of one call, takes in their strict status, and tells whether there
// are as many kinds of them as its result row needs.
bool take_details(WholeRows& details, std::optional<std::size_t> strict_cell,
                  documented::ResultRow& row, bool has_no_details) {
  bool forward = false;
  bool backward = false;
  while (details.there() && call_of(tables::without_guard(details.cells()[0])) == row.api_name) {
    const bool is_backward =
        details.cells()[0].rfind(".backward.output.") != std::string_view::npos;
    (is_backward ? backward : forward) = true;
    const auto strict = strict_cell && *strict_cell < details.cells().size()
                            ? parse_verdict(details.cells()[*strict_cell])
                            : std::nullopt;
    if (strict) row.strict = row.strict ? worse(*row.strict, *strict) : *strict;
    details.next();
  }
  if (has_no_details) return true;
  const bool skipped = row.forward == Verdict::kSkip && row.backward == Verdict::kSkip;
  return forward == row.forward.has_value() && (skipped || backward == row.backward.has_value());
}

// Which cell of a details row holds the strict status; none in profile reference.
std::optional<std::size_t> strict_place(std::string_view header) {
  constexpr std::string_view kTitle = ",Strict Status,";
  const std::size_t found = header.find(kTitle);
  if (found == std::string_view::npos) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::count(header.substr(0, found), ',')) + 1;
}

std::string cut_note(const fs::path& path, std::uint64_t bytes, std::string_view why) {
  return fmt::format("{}: removed the last {} bytes: {}", path.filename().string(), bytes, why);
}

// Walks both files side by side, call by call.
class Salvager {
 public:
  Salvager(const InterruptedPair& pair, const ExpectedRows& expected, CsvSizes start)
      : pair_(pair),
        expected_(expected),
        result_(pair.result, start.result, pair.paths.result),
        details_(pair.details, start.details, pair.paths.details),
        strict_cell_(strict_place(pair.headers.details)),
        complete_{start, 0} {}

  Result<void> walk(const std::function<void(const documented::ResultRow&)>& show) {
    details_.next();
    while (result_.next()) {
      Result<documented::ResultRow> row = read_result_row(result_, pair_.paths.result, pair_.style);
      if (!row) return propagate(row);
      const Result<std::size_t> place = find_place(*row);
      if (!place) return propagate(place);
      const bool known = *place < expected_.count;
      if (!known ||
          !take_details(details_, strict_cell_, *row, expected_.has_no_details(row->api_name)))
        break;
      if (last_) show(*last_);
      last_ = std::move(*row);
      before_last_ = complete_;
      const std::size_t details_end = details_.there() ? details_.begin() : details_.end();
      complete_ = {{result_.end(), details_end, end_of_maps(last_->api_name)}, *place + 1};
    }
    return {};
  }

  Salvaged end(const std::function<void(const documented::ResultRow&)>& show) {
    Salvaged salvaged;
    add_notes(salvaged.notes);
    const bool whole = pair_.finished && salvaged.notes.empty();
    if (complete_.sizes.maps < pair_.maps.size()) {
      salvaged.notes.push_back(cut_note(pair_.paths.maps, pair_.maps.size() - complete_.sizes.maps,
                                        "maps without their result row"));
    }
    const bool redo_last = last_ && !whole && !expected_.only_some;
    if (last_ && !redo_last) show(*last_);
    const Boundary& kept = redo_last ? before_last_ : complete_;
    salvaged.keep = kept.sizes;
    salvaged.calls = kept.calls;
    if (redo_last) {
      const auto rows = [](std::string_view text, std::uint64_t from, std::uint64_t to) {
        return std::string(text.substr(from, to - from));
      };
      salvaged.last_result = rows(pair_.result, kept.sizes.result, complete_.sizes.result);
      salvaged.last_details = rows(pair_.details, kept.sizes.details, complete_.sizes.details);
      salvaged.last_maps = rows(pair_.maps, kept.sizes.maps, complete_.sizes.maps);
    }
    return salvaged;
  }

 private:
  // Where both files may be cut: behind a call.
  struct Boundary {
    CsvSizes sizes;
    std::size_t calls = 0;
  };

  // Which call the row is of; `count` for one beyond them all.
  Result<std::size_t> find_place(const documented::ResultRow& row) const {
    std::size_t at = complete_.calls;
    if (expected_.only_some) {
      while (at < expected_.count && expected_.name(at) != row.api_name) ++at;
      return at;
    }
    const std::string wanted = at < expected_.count ? expected_.name(at) : "";
    if (row.api_name == wanted) return at;
    return fail(
        ErrorKind::kUsage,
        fmt::format("{}: line {}: found the row of {}, expected {}; the file was edited, or "
                    "belongs to another dump",
                    pair_.paths.result.string(), result_.line(), row.api_name,
                    wanted.empty() ? "the end" : wanted));
  }

  // Behind the lines of this call, which follow those of the calls before it.
  std::uint64_t end_of_maps(std::string_view call) const {
    std::uint64_t end = complete_.sizes.maps;
    if (end == pair_.maps.size()) return end;
    const std::string start = map_line_start(call);
    while (pair_.maps.substr(end).starts_with(start)) {
      const std::string_view line = first_line(pair_.maps.substr(end));
      if (line.empty()) break;
      end += line.size();
    }
    return end;
  }

  void add_notes(std::vector<std::string>& notes) {
    while (result_.there() && result_.next()) {
    }
    while (details_.there() && details_.next()) {
    }
    const auto note = [&](const fs::path& path, std::size_t size, std::size_t whole,
                          std::size_t complete, std::string_view what) {
      if (whole < size) notes.push_back(cut_note(path, size - whole, "a partial row"));
      if (complete < whole) notes.push_back(cut_note(path, whole - complete, what));
    };
    note(pair_.paths.result, pair_.result.size(), result_.end(), complete_.sizes.result,
         "result rows without their details");
    note(pair_.paths.details, pair_.details.size(), details_.end(), complete_.sizes.details,
         "details without their result row");
  }

  const InterruptedPair& pair_;
  const ExpectedRows& expected_;
  WholeRows result_;
  WholeRows details_;
  std::optional<std::size_t> strict_cell_;
  Boundary complete_;
  Boundary before_last_;
  std::optional<documented::ResultRow> last_;
};

}  // namespace

Result<Salvaged> salvage(const InterruptedPair& pair, const ExpectedRows& expected,
                         const std::function<void(const documented::ResultRow&)>& show) {
  const auto result = check_header(pair.result, pair.headers.result, pair.paths.result);
  if (!result) return propagate(result);
  const auto details = check_header(pair.details, pair.headers.details, pair.paths.details);
  if (!details) return propagate(details);
  const bool torn_header = *result == 0 || *details == 0;
  if (torn_header) {
    return Salvaged{{*result, *details}, 0, {"the first rows are incomplete"}, "", ""};
  }
  Salvager salvager(pair, expected, {*result, *details});
  if (const Result<void> walked = salvager.walk(show); !walked) return propagate(walked);
  return salvager.end(show);
}

Result<void> read_finished(const InterruptedPair& pair,
                           const std::function<void(const documented::ResultRow&)>& show) {
  const auto result_start = check_header(pair.result, pair.headers.result, pair.paths.result);
  if (!result_start) return propagate(result_start);
  const auto details_start = check_header(pair.details, pair.headers.details, pair.paths.details);
  if (!details_start) return propagate(details_start);
  WholeRows result(pair.result, *result_start, pair.paths.result);
  WholeRows details(pair.details, *details_start, pair.paths.details);
  const auto strict_cell = strict_place(pair.headers.details);
  details.next();
  while (result.next()) {
    Result<documented::ResultRow> row = read_result_row(result, pair.paths.result, pair.style);
    if (!row) return propagate(row);
    take_details(details, strict_cell, *row, true);
    show(*row);
  }
  if (result.end() == pair.result.size() && details.end() == pair.details.size()) return {};
  return fail(ErrorKind::kFormat, fmt::format("{}: line {}: not a row that a check writes",
                                              pair.paths.result.string(), result.line()));
}

namespace {

// A pair of one device lies in its own directory beside the merged pair.
Result<void> check_is_merged(const fs::path& result_csv, std::string_view stamp) {
  const std::string directory = result_csv.parent_path().filename().string();
  if (!directory.starts_with("device") || !directory.ends_with(fmt::format("_{}", stamp))) {
    return {};
  }
  const fs::path merged = result_csv.parent_path().parent_path() / result_csv.filename();
  std::error_code error;
  if (!fs::exists(merged, error)) return {};
  return fail(ErrorKind::kUsage,
              fmt::format("{} has the rows of one device only; continue from the merged one: "
                          "-csv_path {}",
                          result_csv.string(), shell_path(merged)));
}

}  // namespace

Result<CsvPaths> paths_to_resume(const fs::path& result_csv, const CsvNames& names) {
  const auto checked = check_input_file(result_csv, {.suffix = ".csv", .writable = true});
  if (!checked) return propagate(checked);
  const std::optional<CsvPaths> paths = csv_paths_of(*checked, names);
  if (!paths) {
    return fail(ErrorKind::kUsage,
                "When continue acc_check, please do not modify the result csv name.");
  }
  if (const auto merged = check_is_merged(*checked, paths->stamp); !merged) {
    return propagate(merged);
  }
  const auto details = check_input_file(paths->details, {.suffix = ".csv", .writable = true});
  if (!details) return propagate(details);
  return *paths;
}

}  // namespace msprobe::journal
