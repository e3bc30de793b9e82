#include "report/csv_text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "report/number_text.h"

namespace msprobe::report {
namespace {

constexpr std::array<std::string_view, 10> kFormulaStarts = {"+",  "-",  "=",  "%",  "@",
                                                             "＋", "－", "＝", "％", "＠"};

bool starts_formula(std::string_view text) {
  // Most text starts with a letter; nothing that does is a formula.
  if (!text.empty() && std::isalnum(static_cast<unsigned char>(text.front())) != 0) return false;
  return std::ranges::any_of(kFormulaStarts,
                             [&](std::string_view start) { return text.starts_with(start); });
}

bool needs_quotes(char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; }

bool needs_guard(std::string_view text) {
  if (text.empty()) return false;
  if (text.front() == '\t') return true;
  return starts_formula(text) && !parse_number(text);
}

}  // namespace

void append_text(std::string& out, std::string_view text) {
  const bool guard = needs_guard(text);
  if (std::ranges::none_of(text, needs_quotes)) {
    if (guard) out += '\'';
    out += text;
    return;
  }
  out += '"';
  if (guard) out += '\'';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string_view without_guard(std::string_view text) {
  if (text.starts_with('\'') && needs_guard(text.substr(1))) text.remove_prefix(1);
  return text;
}

bool unsafe_name(std::string_view name) {
  if (starts_formula(name)) return true;
  for (std::size_t at = name.find(';'); at != std::string_view::npos; at = name.find(';', at + 1)) {
    if (starts_formula(name.substr(at + 1))) return true;
  }
  return false;
}

}  // namespace msprobe::report
