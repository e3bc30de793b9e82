// SPDX-License-Identifier: Apache-2.0
#include "core/repeatable_text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace msprobe {
namespace {

constexpr std::size_t kDigitsOfAnAddress = 8;  // shorter ones are codes and flags

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// How many characters of `text` fit `form`: 'd' is a digit, 'D' one or more, others themselves. 0:
// it does not fit.
std::size_t fits(std::string_view text, std::string_view form) {
  std::size_t at = 0;
  for (const char wanted : form) {
    const bool digit = at < text.size() && is_digit(text[at]);
    if (wanted == 'd' || wanted == 'D') {
      if (!digit) return 0;
      ++at;
      while (wanted == 'D' && at < text.size() && is_digit(text[at])) ++at;
    } else {
      if (at >= text.size() || text[at] != wanted) return 0;
      ++at;
    }
  }
  return at;
}

// 12:30:59, 12:30:59.123456, 12:30:59,123.456
std::size_t time_at(std::string_view text) {
  std::size_t size = fits(text, "dd:dd:dd");
  while (size > 0 && size < text.size() && (text[size] == '.' || text[size] == ',')) {
    const std::size_t more = fits(text.substr(size + 1), "D");
    if (more == 0) break;
    size += 1 + more;
  }
  return size;
}

// 2026-11-18, alone or with a time behind it: 2026-11-18-20:33:32, 2026/11/18 20:33:32.123
std::size_t date_at(std::string_view text) {
  std::size_t size = fits(text, "dddd-dd-dd");
  if (size == 0) size = fits(text, "dddd/dd/dd");
  if (size == 0) return time_at(text);
  if (size < text.size() && std::string_view("- T_").find(text[size]) != std::string_view::npos) {
    const std::size_t time = time_at(text.substr(size + 1));
    if (time > 0) size += 1 + time;
  }
  return size;
}

std::size_t address_at(std::string_view text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return 0;
  std::size_t size = 2;
  while (size < text.size() && is_hex(text[size])) ++size;
  return size - 2 >= kDigitsOfAnAddress ? size : 0;
}

// "pid", "RankID", "task_id", "streamId", "device": a number behind it counts something that a
// worker, or what it did before, decides.
bool names_a_number(std::string_view word) {
  constexpr auto kWhole = std::to_array<std::string_view>(
      {"cuda", "devid", "device", "deviceid", "gpu", "hpu", "id", "mlu", "musa", "npu", "pid",
       "process", "rankid", "streamid", "taskid", "thread", "tid", "xla", "xpu"});
  std::string small(word);
  std::ranges::transform(small, small.begin(), lower);
  return std::ranges::find(kWhole, small) != kWhole.end() || small.ends_with("_id");
}

// The number behind such a word, with what lies between: ": 12", "=0", " 12".
std::size_t number_at(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && at < 3 && (text[at] == ':' || text[at] == '=' || text[at] == ' ')) {
    ++at;
  }
  const std::size_t between = at;
  if (at < text.size() && text[at] == '-') ++at;
  const std::size_t digits = at < text.size() ? fits(text.substr(at), "D") : 0;
  if (between == 0 || digits == 0) return 0;
  const bool ends = at + digits == text.size() || !is_word(text[at + digits]);
  return ends ? at + digits : 0;
}

// "/a/b/file.cc": the length of "/a/b/".
std::size_t directories_at(std::string_view text) {
  if (!text.starts_with('/')) return 0;
  std::size_t last = 0;
  for (std::size_t at = 1; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '/') {
      last = at;
    } else if (!is_word(c) && std::string_view(".+-@~").find(c) == std::string_view::npos) {
      break;
    }
  }
  return last == 0 ? 0 : last + 1;
}

}  // namespace

std::string repeatable_text(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    const char before = at == 0 ? ' ' : text[at - 1];
    const std::string_view rest = text.substr(at);
    if (is_word(before) || before == '.' || before == '/' || (before == '-' && !is_word(rest[0]))) {
      kept += text[at++];
      continue;
    }
    std::size_t left_out = date_at(rest);
    if (left_out == 0) left_out = address_at(rest);
    if (left_out == 0) left_out = directories_at(rest);
    if (left_out > 0) {
      at += left_out;
      // What separated it from its neighbours is needed once.
      const bool blank = at < text.size() && text[at] == ' ' && !kept.empty() && kept.back() == ' ';
      if (blank && rest[0] != '/') ++at;
      continue;
    }
    std::size_t word = 0;
    while (word < rest.size() && is_word(rest[word])) ++word;
    if (word == 0) {
      kept += text[at++];
      continue;
    }
    kept += rest.substr(0, word);
    at += word;
    if (names_a_number(rest.substr(0, word))) at += number_at(rest.substr(word));
  }
  return kept;
}

}  // namespace msprobe
