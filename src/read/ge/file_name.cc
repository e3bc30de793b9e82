// SPDX-License-Identifier: Apache-2.0
#include "ge/file_name.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace msprobe::ge {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

bool drop_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

template <class Number>
Number number(std::string_view digits) {
  Number value{};
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t dot = text.find('.');
    fields.push_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return fields;
    text.remove_prefix(dot + 1);
  }
}

bool is_foreign(std::string_view name) {
  constexpr std::array<std::string_view, 7> kSuffixes = {".npy", ".bin",  ".txt",    ".swp",
                                                         ".tmp", ".json", ".partial"};
  return name.starts_with("Opdebug.") || name.starts_with(".") ||
         std::ranges::any_of(kSuffixes, [&](auto suffix) { return name.ends_with(suffix); });
}

}  // namespace

std::optional<FileName> parse_file_name(std::string_view name) {
  if (is_foreign(name)) return std::nullopt;
  FileName parsed;
  if (drop_suffix(name, ".csv")) parsed.kind = FileKind::kStatistics;
  if (drop_suffix(name, ".npz")) parsed.kind = FileKind::kInfo;
  const std::vector<std::string_view> fields = split(name);
  // Very old tools wrote no stream.
  if (fields.size() < 4 || fields[0].empty() || fields[1].empty()) return std::nullopt;
  const std::size_t time_field = fields.size() == 4 ? 3 : 4;
  const std::string_view time = fields[time_field];
  const std::string_view digits =
      time.substr(0, std::min(time.find_first_not_of("0123456789"), time.size()));
  // A converted file has the user's suffix behind the last field: "1755_min_max", or behind the
  // thread of an FFTS+ name.
  if (digits.empty() || (digits.size() < time.size() && parsed.kind != FileKind::kInfo)) {
    return std::nullopt;
  }
  if (!all_digits(fields[2])) return std::nullopt;
  parsed.op_type = fields[0];
  parsed.op_name = fields[1];
  parsed.time = number<std::uint64_t>(digits);
  if (fields.size() == 9) parsed.thread = number<std::uint32_t>(fields[7]);
  return parsed;
}

bool is_hashed_name(std::string_view name) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  return digits > 0 && (digits == name.size() || name.ends_with(".npz"));
}

std::vector<Mapping> read_mapping(std::string_view text) {
  std::vector<Mapping> rows;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos) continue;
    rows.push_back({std::string(line.substr(0, comma)), std::string(line.substr(comma + 1))});
  }
  return rows;
}

std::string escaped(std::string_view op_name) {
  std::string out(op_name);
  for (char& c : out) {
    if (c == ' ' || c == '.' || c == '/' || c == '\\') c = '_';
  }
  return out;
}

}  // namespace msprobe::ge
