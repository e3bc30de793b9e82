#include "check/resume.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "check/api_name.h"
#include "core/path_check.h"
#include "report/csv_reader.h"
#include "report/csv_text.h"

namespace msprobe::check {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kResultStart = "accuracy_checking_result_";
constexpr std::string_view kSuffix = ".csv";
constexpr std::size_t kTimestampDigits = 14;
constexpr std::size_t kResultCells = 4;

// The rows below the header, up to the one that its writer did not finish.
class WholeRows {
 public:
  // `start`: where the header ends.
  WholeRows(std::string_view text, std::size_t start, const fs::path& path)
      : text_(text), start_(start), reader_(text.substr(start), path.filename().string()) {}

  // False at the end and at a torn row: one without a line end, with an open quote or NUL bytes.
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
  report::CsvReader reader_;
  bool there_ = false;
  std::size_t end_ = 0;
};

// Length of the header; 0 when even that is torn.
Result<std::size_t> check_header(std::string_view text, std::string_view header,
                                 const fs::path& path) {
  if (text.starts_with(header)) return header.size();
  if (header.starts_with(text)) return 0;
  return fail(ErrorKind::kUsage,
              fmt::format("{}: its columns are not those of this run; continue with the titles and "
                          "the profile it was made with",
                          path.string()));
}

Result<judge::ResultRow> read_result_row(const WholeRows& rows, const fs::path& path) {
  const auto& cells = rows.cells();
  judge::ResultRow row;
  bool good = cells.size() == kResultCells;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (!good) break;
    auto& verdict = i == 1 ? row.forward : row.backward;
    verdict = judge::parse_verdict(cells[i]);
    good = verdict || cells[i] == judge::kBlankText;
  }
  if (!good) {
    return fail(ErrorKind::kFormat, fmt::format("{}: line {}: not a row that a check writes",
                                                path.string(), rows.line()));
  }
  row.api_name = report::without_guard(cells[0]);
  row.message = report::without_guard(cells[3]);
  return row;
}

// Passes over the details rows of one call and tells whether there are as many kinds of them as its
// result row needs.
bool take_details(WholeRows& details, const judge::ResultRow& row, bool has_no_details) {
  bool forward = false;
  bool backward = false;
  while (details.there() && call_of(report::without_guard(details.cells()[0])) == row.api_name) {
    const bool is_backward =
        details.cells()[0].rfind(".backward.output.") != std::string_view::npos;
    (is_backward ? backward : forward) = true;
    details.next();
  }
  if (has_no_details) return true;
  const bool skipped =
      row.forward == judge::Verdict::kSkip && row.backward == judge::Verdict::kSkip;
  return forward == row.forward.has_value() && (skipped || backward == row.backward.has_value());
}

// Where each file may be cut: behind the last call, and behind the one before it.
struct Boundary {
  CsvSizes sizes;
  std::size_t calls = 0;
};

std::string cut_note(const fs::path& path, std::uint64_t bytes, std::string_view why) {
  return fmt::format("{}: cut the last {} bytes: {}", path.filename().string(), bytes, why);
}

void add_notes(const InterruptedPair& pair, const CsvSizes& whole, const CsvSizes& complete,
               Salvaged& salvaged) {
  if (whole.result < pair.result.size()) {
    salvaged.notes.push_back(
        cut_note(pair.paths.result, pair.result.size() - whole.result, "a torn row"));
  }
  if (whole.details < pair.details.size()) {
    salvaged.notes.push_back(
        cut_note(pair.paths.details, pair.details.size() - whole.details, "a torn row"));
  }
  if (complete.result < whole.result) {
    salvaged.notes.push_back(cut_note(pair.paths.result, whole.result - complete.result,
                                      "result rows without their details"));
  }
  if (complete.details < whole.details) {
    salvaged.notes.push_back(cut_note(pair.paths.details, whole.details - complete.details,
                                      "details without their result row"));
  }
}

}  // namespace

Result<Salvaged> salvage(const InterruptedPair& pair, const ExpectedRows& expected,
                         const std::function<void(const judge::ResultRow&)>& show) {
  const auto result_start = check_header(pair.result, pair.headers.result, pair.paths.result);
  if (!result_start) return propagate(result_start);
  const auto details_start = check_header(pair.details, pair.headers.details, pair.paths.details);
  if (!details_start) return propagate(details_start);
  const bool torn_header = *result_start == 0 || *details_start == 0;
  WholeRows result(pair.result, *result_start, pair.paths.result);
  WholeRows details(pair.details, *details_start, pair.paths.details);
  Boundary before_last;
  Boundary complete{{*result_start, *details_start}, 0};
  std::optional<judge::ResultRow> last;
  if (!torn_header) details.next();
  while (!torn_header && result.next()) {
    Result<judge::ResultRow> row = read_result_row(result, pair.paths.result);
    if (!row) return propagate(row);
    const std::string wanted = complete.calls < expected.count ? expected.name(complete.calls) : "";
    if (row->api_name != wanted) {
      return fail(
          ErrorKind::kUsage,
          fmt::format("{}: line {}: the row of {}, where {} should be; the file was edited, "
                      "or it is of another dump",
                      pair.paths.result.string(), result.line(), row->api_name,
                      wanted.empty() ? "the end" : wanted));
    }
    if (!take_details(details, *row, expected.has_no_details(row->api_name))) break;
    if (last) show(*last);
    last = std::move(*row);
    before_last = complete;
    const std::size_t details_end = details.there() ? details.begin() : details.end();
    complete = {{result.end(), details_end}, complete.calls + 1};
  }
  Salvaged salvaged;
  while (result.there() && result.next()) {
  }
  while (details.there() && details.next()) {
  }
  add_notes(pair, {result.end(), details.end()}, complete.sizes, salvaged);
  const bool redo_last = last && !(pair.finished && salvaged.notes.empty());
  if (last && !redo_last) show(*last);
  const Boundary& kept = redo_last ? before_last : complete;
  salvaged.keep = kept.sizes;
  salvaged.calls = kept.calls;
  return salvaged;
}

Result<CsvPaths> paths_to_resume(const fs::path& result_csv) {
  const auto checked = check_input_file(result_csv, {.suffix = ".csv", .writable = true});
  if (!checked) return propagate(checked);
  const std::string name = checked->filename().string();
  const std::size_t digits = name.size() < kResultStart.size() + kSuffix.size()
                                 ? 0
                                 : name.size() - kResultStart.size() - kSuffix.size();
  const std::string stamp = name.substr(std::min(name.size(), kResultStart.size()), digits);
  if (!name.starts_with(kResultStart) || digits != kTimestampDigits ||
      !std::ranges::all_of(stamp, [](char c) { return c >= '0' && c <= '9'; })) {
    return fail(ErrorKind::kUsage,
                "When continue acc_check, please do not modify the result csv name.");
  }
  const CsvPaths paths = csv_paths(checked->parent_path(), stamp);
  const auto details = check_input_file(paths.details, {.suffix = ".csv", .writable = true});
  if (!details) return propagate(details);
  return paths;
}

std::string timestamp_of(const CsvPaths& paths) {
  return paths.result.filename().string().substr(kResultStart.size(), kTimestampDigits);
}

}  // namespace msprobe::check
