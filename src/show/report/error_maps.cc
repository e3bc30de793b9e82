// SPDX-License-Identifier: Apache-2.0
#include "report/error_maps.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <simdjson.h>

#include "core/file.h"
#include "report/report_files.h"

namespace msprobe::report {
namespace {

namespace fs = std::filesystem;
namespace dom = simdjson::dom;

constexpr std::int64_t kMostSide = 64;
constexpr std::size_t kMostDimensions = 64;
constexpr std::size_t kCounts = 16;
constexpr std::size_t kMostSamples = 8;
constexpr std::size_t kLongestNumber = 64;
constexpr std::size_t kLongestLine = 64 * 1024;

// A number, or the text of one: "nan", "-inf", "1-2j", "9007199254740993".
bool is_number(const dom::element& value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return value.is_number();
  constexpr std::string_view kLetters = "0123456789.+-einfaj";
  return text.size() <= kLongestNumber &&
         text.find_first_not_of(kLetters) == std::string_view::npos;
}

bool are_numbers(const dom::element& line, const char* key, std::size_t most) {
  dom::array items;
  if (line[key].get(items) != simdjson::SUCCESS || items.size() > most) return false;
  return std::ranges::all_of(items, [](const dom::element& item) { return item.is_number(); });
}

bool are_samples(const dom::element& line) {
  dom::array samples;
  if (line["worst"].get(samples) != simdjson::SUCCESS || samples.size() > kMostSamples) {
    return false;
  }
  return std::ranges::all_of(samples, [](const dom::element& item) {
    dom::array sample;
    return item.get(sample) == simdjson::SUCCESS && sample.size() == 4 &&
           std::ranges::all_of(sample, is_number);
  });
}

bool holds_together(const dom::element& line) {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string_view cells;
  bool plane = false;
  if (line["rows"].get(rows) != simdjson::SUCCESS || rows < 0 || rows > kMostSide) return false;
  if (line["columns"].get(columns) != simdjson::SUCCESS || columns < 0 || columns > kMostSide) {
    return false;
  }
  if (line["cells"].get(cells) != simdjson::SUCCESS || line["plane"].get(plane)) return false;
  const auto is_code = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  // The last row of a flat map may be shorter.
  const std::int64_t most = rows * columns;
  const std::int64_t least = plane || rows == 0 ? most : (rows - 1) * columns + 1;
  const auto size = static_cast<std::int64_t>(cells.size());
  return size >= least && size <= most && std::ranges::all_of(cells, is_code) &&
         are_numbers(line, "shape", kMostDimensions) && are_numbers(line, "counts", kCounts) &&
         are_samples(line);
}

std::optional<std::string> row_of(dom::parser& parser, std::string_view line) {
  if (line.size() > kLongestLine) return std::nullopt;
  dom::element root;
  std::string_view row;
  if (parser.parse(line.data(), line.size()).get(root) != simdjson::SUCCESS) return std::nullopt;
  if (root["row"].get(row) != simdjson::SUCCESS || !holds_together(root)) return std::nullopt;
  return std::string(row);
}

}  // namespace

fs::path map_path(const fs::path& details_csv) { return beside_csv(details_csv, "maps", ".jsonl"); }

std::optional<std::string> row_of_map_line(std::string_view line) {
  dom::parser parser;
  return row_of(parser, line);
}

Result<std::size_t> read_error_maps(ReportRun& run, const fs::path& path) {
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  std::unordered_map<std::string, std::size_t> rows;
  for (const ReportCall& call : run.calls) {
    for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
      rows.emplace(fmt::format("{}.{}", call.name, run.rows[i].part), i);
    }
  }
  dom::parser parser;
  std::size_t left_out = 0;
  std::string_view text = file->text();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::optional<std::string> row = row_of(parser, line);
    if (row) std::ranges::replace(*row, '*', '.');  // names of the older recorder
    const auto found = row ? rows.find(*row) : rows.end();
    if (found == rows.end()) {
      ++left_out;
      continue;
    }
    run.rows[found->second].error_map = line;
  }
  return left_out;
}

}  // namespace msprobe::report
