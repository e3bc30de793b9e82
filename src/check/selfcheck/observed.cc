// SPDX-License-Identifier: Apache-2.0
#include "selfcheck/observed.h"

#include <charconv>

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/file.h"
#include "tables/detail_columns.h"
#include "tables/table_reader.h"

namespace msprobe::selfcheck {
namespace {

std::vector<std::string_view> split(std::string_view line, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = line.find(by);
    parts.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return parts;
    line.remove_prefix(end + 1);
  }
}

// "(2, 3)" -> 6; "()" -> 1.
std::int64_t elements_of(std::string_view shape) {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < shape.size();) {
    std::int64_t extent = 0;
    const auto [end, error] =
        std::from_chars(shape.data() + i, shape.data() + shape.size(), extent);
    if (error != std::errc()) {
      ++i;
      continue;
    }
    product *= extent;
    i = static_cast<std::size_t>(end - shape.data());
  }
  return product;
}

}  // namespace

Result<DeviceLog> read_log(const std::filesystem::path& path) {
  DeviceLog log;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return log;
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  for (const std::string_view line : split(file->text(), '\n')) {
    const std::vector<std::string_view> words = split(line, '\t');
    if (words.size() < 4) continue;
    const Pass pass{std::string(words[1]), words[2] == "backward"};
    if (words[0] == "fault") log.faults[pass] = words[3];
    if (words[0] == "result" && words.size() == 5) {
      log.results[pass][std::string(words[3])] = words[4];
    }
  }
  return log;
}

Result<Details> read_details(const std::filesystem::path& csv) {
  const Result<FileBytes> file = load_file(csv);
  if (!file) return propagate(file);
  auto table = tables::TableReader<documented::DetailRow>::start(
      file->text(), csv.filename().string(),
      tables::detail_columns(documented::Profile::kDocumented));
  if (!table) return propagate(table);
  Details details;
  documented::DetailRow row;
  while (true) {
    const Result<bool> more = table->next(row);
    if (!more) return propagate(more);
    if (!*more) return details;
    constexpr std::string_view kOutput = "output.";
    const auto name = parse_row_name(row.api_name);
    if (!name || !name->part.starts_with(kOutput)) continue;
    const Pass pass{std::string(name->call), !name->forward};
    details[pass].push_back(
        {std::string(name->part.substr(kOutput.size())), row.status, row.strict_status,
         row.strict_reason, row.likely_cause, elements_of(row.shape), row.device_dtype,
         row.max_ulp_error.blank() ? std::nullopt : std::optional(row.max_ulp_error.value)});
  }
}

}  // namespace msprobe::selfcheck
