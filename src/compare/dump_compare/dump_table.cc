// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/dump_table.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/file.h"
#include "core/json_writer.h"
#include "measure/chunks.h"
#include "tables/csv_reader.h"
#include "tables/csv_text.h"
#include "tables/xlsx_table.h"

namespace msprobe::dump_compare {
namespace {

namespace fs = std::filesystem;
using DumpColumn = ItemColumn;
using DumpOutcome = Outcome;
using DumpRow = ItemRow;

// Behind the documented columns and those of the comparison.
constexpr std::string_view kRoleTitle = "Divergence";

constexpr const char* kHeldSuffix = ".rows";

// Of a row, by its cell `Result`.
tables::RowMark mark_of(std::string_view outcome) {
  if (outcome == name(DumpOutcome::kPass)) return tables::RowMark::kNone;
  if (outcome == name(DumpOutcome::kError)) return tables::RowMark::kAbnormal;
  return tables::RowMark::kSuspicious;
}

void write_name(JsonWriter& json, std::string_view key, const dump::Entry* entry,
                const dump::Item* item) {
  json.key(key);
  if (item == nullptr) {
    json.null();
  } else {
    json.value(dump::item_name(*entry, *item));
  }
}

void write_metrics(JsonWriter& json, const RealNumbers& real) {
  using State = RealNumbers::State;
  if (real.state != State::kAll && real.state != State::kOneElement) return;
  json.key("max_abs_error").value(real.max_abs_error);
  json.key("max_relative_error").value(real.max_relative_error);
  if (real.state == State::kOneElement) return;
  json.key("cosine").value(real.cosine);
  json.key("euclidean_distance").value(real.euclidean_distance);
  json.key("within_1000").value(real.within_1000);
  json.key("within_200").value(real.within_200);
}

void write_differences(JsonWriter& json, const DumpRow& row) {
  constexpr std::array<std::string_view, kStatisticCount> kKeys{"max_relative", "min_relative",
                                                                "mean_relative", "norm_relative"};
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const double relative = row.differences[i].relative_or_none();
    if (relative >= 0) json.key(kKeys[i]).value(relative);
  }
}

void write_row(JsonWriter& json, const DumpPair& pair, DataMode mode, const EntryRows& rows,
               const DumpRow& row) {
  json.begin_object();
  json.key("step").value(pair.step).key("rank").value(pair.rank);
  write_name(json, "target", row.target_entry, row.target);
  write_name(json, "golden", row.golden_entry, row.golden);
  json.key("result").value(name(row.outcome));
  json.key("match").value(name(row.match));
  if (!rows.module.empty()) json.key("module").value(rows.module);
  if (row.is_matched()) {
    if (mode == DataMode::kReal) write_metrics(json, row.real);
    if (mode == DataMode::kMd5) {
      json.key("target_md5").value(md5_text(row.target));
      json.key("golden_md5").value(md5_text(row.golden));
    } else {
      write_differences(json, row);
    }
  }
  if (!row.messages.empty()) {
    json.key("messages").begin_array();
    for (const std::string& message : row.messages) json.value(message);
    json.end_array();
  }
  json.end_object();
}

}  // namespace

Result<DumpTable> DumpTable::start(const fs::path& directory, const std::string& stem, bool xlsx,
                                   const CompareStart& start) {
  Result<tables::FreeOutput> held = tables::create_free(directory, stem, kHeldSuffix, ".csv");
  if (!held) return propagate(held);
  DumpTable table(directory, stem + held->number, std::move(held->file));
  table.columns_ = start.columns;
  table.xlsx_ = xlsx;
  return table;
}

Result<void> DumpTable::add(const EntryRows& rows) {
  if (rows.rows.empty()) return {};
  held_.buffer() += rows.csv;
  entries_.push_back({rows.target ? std::string(rows.target->name) : std::string(),
                      static_cast<std::uint32_t>(rows.rows.size())});
  sizes_.insert(sizes_.end(), rows.csv_sizes.begin(), rows.csv_sizes.end());
  return held_.flush_if_full();
}

Result<std::vector<fs::path>> DumpTable::finish(const RoleOf& role_of, std::size_t most_rows) {
  const Result<FileBytes> rows = held_.read_back();
  if (!rows) return propagate(rows, (directory_ / (stem_ + kHeldSuffix)).string());
  Result<std::vector<fs::path>> written = write_csv(rows->text(), role_of, most_rows);
  // It keeps the name of the tables for this run until they are there.
  held_.discard();
  if (!written || !xlsx_) return written;
  Result<fs::path> sheet = write_sheet(rows->text(), role_of);
  if (!sheet) return propagate(sheet);
  written->push_back(*std::move(sheet));
  return written;
}

std::string_view DumpTable::role_of_entry(const HeldEntry& entry, const RoleOf& role_of) {
  return entry.name.empty() ? kNotKnown : role_of(entry.name);
}

Result<std::vector<fs::path>> DumpTable::write_csv(std::string_view text, const RoleOf& role_of,
                                                   std::size_t most_rows) const {
  std::string titles = csv_titles(columns_);
  titles.insert(titles.size() - 1, fmt::format(",{}", kRoleTitle));
  std::vector<fs::path> written;
  std::optional<tables::OutputFile> csv;
  const auto next_file = [&](const std::string& name) -> Result<void> {
    if (csv) {
      if (const auto done = csv->commit(); !done) return propagate(done);
    }
    written.push_back(directory_ / name);
    Result<tables::OutputFile> file = tables::OutputFile::create(written.back());
    if (!file) return propagate(file);
    csv.emplace(*std::move(file));
    csv->buffer() += titles;
    return {};
  };
  const bool is_split = sizes_.size() > most_rows;
  if (!is_split) {
    if (const auto done = next_file(stem_ + ".csv"); !done) return propagate(done);
  }
  std::size_t row = 0;
  for (const HeldEntry& entry : entries_) {
    const std::string_view role = role_of_entry(entry, role_of);
    for (std::uint32_t i = 0; i < entry.rows; ++i, ++row) {
      if (is_split && row % most_rows == 0) {
        const auto done = next_file(fmt::format("{}_part_{}.csv", stem_, row / most_rows + 1));
        if (!done) return propagate(done);
      }
      std::string& out = csv->buffer();
      out += text.substr(0, sizes_[row] - 1);  // without the line end
      out += ',';
      out += role;
      out += '\n';
      text.remove_prefix(sizes_[row]);
      if (const auto done = csv->flush_if_full(); !done) return propagate(done);
    }
  }
  if (const auto done = csv->commit(); !done) return propagate(done);
  return written;
}

Result<fs::path> DumpTable::write_sheet(std::string_view text, const RoleOf& role_of) const {
  fs::path path = directory_ / (stem_ + ".xlsx");
  std::vector<std::string> titles;
  for (const DumpColumn& column : columns_) titles.emplace_back(column.title);
  titles.emplace_back(kRoleTitle);
  const auto result = static_cast<std::size_t>(
      std::ranges::find(columns_, "Result", &DumpColumn::title) - columns_.begin());
  Result<tables::XlsxTable> sheet = tables::XlsxTable::create(path, std::move(titles));
  if (!sheet) return propagate(sheet);
  tables::CsvReader reader(text, path.string());
  std::vector<tables::XlsxCell> cells(columns_.size() + 1);
  for (std::size_t i = 0; i < columns_.size(); ++i) cells[i].is_text = columns_[i].is_text;
  cells.back().is_text = true;
  for (const HeldEntry& entry : entries_) {
    cells.back().text = role_of_entry(entry, role_of);
    for (std::uint32_t row = 0; row < entry.rows; ++row) {
      const Result<bool> more = reader.next();
      if (!more) return propagate(more);
      const auto& held = reader.cells();
      for (std::size_t i = 0; i < std::min(held.size(), columns_.size()); ++i) {
        cells[i].text = tables::without_guard(held[i]);
      }
      sheet->add(cells, mark_of(cells[result].text));
    }
  }
  if (const auto done = sheet->close(); !done) return propagate(done);
  return path;
}

Result<DumpRowsJson> DumpRowsJson::start(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorKind::kUsage, fmt::format("{}: --json needs the name of a file", path));
  }
  Result<tables::OutputFile> file = tables::OutputFile::create(path);
  if (!file) return propagate(file);
  DumpRowsJson json(*std::move(file));
  json.file_.buffer() += "{\n\"rows\": [";
  return json;
}

Result<void> DumpRowsJson::add(const DumpPair& pair, DataMode mode,
                               std::span<const EntryRows> block, int threads) {
  texts_.resize(std::max(texts_.size(), block.size()));
  measure::spread(block.size(), threads, [&](std::size_t i) {
    texts_[i].clear();
    for (const DumpRow& row : block[i].rows) {
      JsonWriter json;
      write_row(json, pair, mode, block[i], row);
      if (!texts_[i].empty()) texts_[i] += ",\n";
      texts_[i] += json.text();
    }
  });
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (texts_[i].empty()) continue;
    file_.buffer() += std::exchange(has_rows_, true) ? ",\n" : "\n";
    file_.buffer() += texts_[i];
  }
  return file_.flush_if_full();
}

Result<void> DumpRowsJson::finish(const std::string& tail) {
  // The tail is an object of its own: its opening brace makes way for the rows before it.
  file_.buffer() += "\n],";
  file_.buffer() += tail.substr(1);
  file_.buffer() += '\n';
  return file_.commit();
}

}  // namespace msprobe::dump_compare
