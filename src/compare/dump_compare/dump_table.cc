// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/dump_table.h"

#include <array>
#include <utility>

#include "core/json_writer.h"
#include "measure/chunks.h"

namespace msprobe::dump_compare {
namespace {

namespace fs = std::filesystem;

// Behind the documented columns and those of the comparison.
constexpr std::string_view kRoleTitle = "Divergence";

// From here on a block is full.
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

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

void write_differences(JsonWriter& json, const ItemRow& row) {
  constexpr std::array<std::string_view, kStatisticCount> kKeys{"max_relative", "min_relative",
                                                                "mean_relative", "norm_relative"};
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const double relative = row.differences[i].relative_or_none();
    if (relative >= 0) json.key(kKeys[i]).value(relative);
  }
}

void write_row(JsonWriter& json, const DumpPair& pair, DataMode mode, const EntryRows& rows,
               const ItemRow& row) {
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
  std::vector<comparison::TableTitle> titles =
      comparison::titles_of(std::span<const ItemColumn>(start.columns));
  titles.push_back({std::string(kRoleTitle), true});
  Result<comparison::RowTable> table = comparison::RowTable::create(
      {directory, stem, xlsx}, comparison::kDumpStyle, std::move(titles));
  if (!table) return propagate(table);
  return DumpTable(*std::move(table));
}

void DumpTable::add(const EntryRows& rows) {
  if (rows.rows.empty()) return;
  if (blocks_.empty() || blocks_.back().texts.csv.size() >= kBlockBytes) blocks_.emplace_back();
  blocks_.back().texts.add(rows.texts);
  blocks_.back().entries.push_back({rows.target ? std::string(rows.target->name) : std::string(),
                                    static_cast<std::uint32_t>(rows.rows.size())});
  rows_ += rows.rows.size();
}

Result<std::vector<fs::path>> DumpTable::finish(const RoleOf& role_of, const OnRow& on_row,
                                                std::size_t most_rows) {
  table_.expect(rows_, most_rows);
  for (; !blocks_.empty(); blocks_.pop_front()) {
    const auto& [texts, entries] = blocks_.front();
    std::vector<std::string_view> roles;
    std::string_view text = texts.csv;
    for (const HeldEntry& entry : entries) {
      const std::string_view role = entry.name.empty() ? kNotKnown : role_of(entry.name);
      for (std::uint32_t i = 0; i < entry.rows; ++i) {
        const std::uint32_t size = texts.sizes[roles.size()];
        if (on_row) on_row(entry.name, text.substr(0, size), role);
        text.remove_prefix(size);
        roles.push_back(role);
      }
    }
    if (const auto added = table_.add(texts, roles); !added) return propagate(added);
  }
  return table_.finish();
}

Result<void> add_rows(comparison::RowsJson& json, const DumpPair& pair, DataMode mode,
                      std::span<const EntryRows> block, int threads) {
  std::vector<std::string> texts(block.size());
  measure::spread(block.size(), threads, [&](std::size_t i) {
    for (const ItemRow& row : block[i].rows) {
      JsonWriter writer;
      write_row(writer, pair, mode, block[i], row);
      if (!texts[i].empty()) texts[i] += ",\n";
      texts[i] += writer.text();
    }
  });
  for (const std::string& text : texts) {
    if (const auto added = json.add(text); !added) return propagate(added);
  }
  return {};
}

}  // namespace msprobe::dump_compare
