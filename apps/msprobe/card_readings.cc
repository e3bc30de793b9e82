// SPDX-License-Identifier: Apache-2.0
#include "card_readings.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/file.h"
#include "tables/csv_reader.h"
#include "tables/table_reader.h"

namespace msprobe::app {
namespace {

constexpr std::string_view kSection = "operators";
constexpr std::string_view kField = "reading";
constexpr std::string_view kPlugIn = "NPU.";
constexpr std::size_t kEnough = 3;  // calls, for a claim of high confidence

// "divides by the scale" of "equal (the device divides by the scale)".
std::string_view reading_in(std::string_view reason) {
  constexpr std::string_view kOpening = "(the device ";
  const std::size_t at = reason.rfind(kOpening);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = reason.substr(at + kOpening.size());
  return rest.substr(0, rest.find(')'));
}

// "NPU.npu_add_rms_norm.0" of "NPU.npu_add_rms_norm.0.forward.output.1".
std::string_view call_in(std::string_view result) {
  return result.substr(0, result.find(".forward"));
}

// Calls by operator and reading.
using Found = std::map<std::string, std::map<std::string, std::set<std::string>>>;

card::Line line_of(const std::string& api, const std::map<std::string, std::set<std::string>>& by) {
  card::Line line{.section = std::string(kSection),
                  .subject = api,
                  .field = std::string(kField),
                  .value = "",
                  .confidence = card::Confidence::kNone,
                  .evidence = ""};
  for (const auto& [reading, calls] : by) {
    line.evidence += fmt::format("{} calls: {}; first {}\n", calls.size(), reading, *calls.begin());
  }
  if (by.size() == 1) {
    const auto& [reading, calls] = *by.begin();
    line.value = reading;
    line.confidence = calls.size() < kEnough ? card::Confidence::kLow : card::Confidence::kHigh;
  }
  return line;
}

}  // namespace

Result<void> learn_readings(const std::string& details_csv, card::Card& card) {
  const Result<FileBytes> file = load_file(details_csv);
  if (!file) return propagate(file);
  tables::CsvReader csv(file->text(), details_csv);
  Result<bool> more = csv.next();
  if (!more) return propagate(more);
  const auto column = [&](std::string_view title) {
    const auto& titles = csv.cells();
    return std::ranges::find_if(
               titles, [&](std::string_view found) { return tables::same_title(found, title); }) -
           titles.begin();
  };
  const auto name = static_cast<std::size_t>(column("API name"));
  const auto reason = static_cast<std::size_t>(column("Strict Reason"));
  if (!*more || name >= csv.cells().size() || reason >= csv.cells().size()) {
    return fail(
        ErrorKind::kFormat,
        fmt::format("{}: not the details CSV of a check (no column Strict Reason)", details_csv));
  }
  Found found;
  while ((more = csv.next()) && *more) {
    if (csv.cells().size() <= std::max(name, reason)) continue;
    const std::string_view call = call_in(csv.cells()[name]);
    const std::string_view reading = reading_in(csv.cells()[reason]);
    if (reading.empty() || !call.starts_with(kPlugIn)) continue;
    const std::string_view api = api_of(call).substr(kPlugIn.size());
    found[std::string(api)][std::string(reading)].emplace(call);
  }
  if (!more) return propagate(more);
  for (const auto& [api, by] : found) {
    std::erase_if(card.lines, [&](const card::Line& line) {
      return line.section == kSection && line.subject == api && line.field == kField;
    });
    card.lines.push_back(line_of(api, by));
  }
  return {};
}

}  // namespace msprobe::app
