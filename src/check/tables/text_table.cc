// SPDX-License-Identifier: Apache-2.0
#include "tables/text_table.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/visible_text.h"

namespace msprobe::tables {
namespace {

struct WordColour {
  std::string_view word;
  std::string_view code;
};
constexpr WordColour kWordColours[] = {
    {"pass", "\033[32m"}, {"warning", "\033[33m"}, {"error", "\033[31m"}, {"SKIP", "\033[2m"}};
constexpr std::string_view kReset = "\033[0m";

// Code points, so that a two-byte letter counts as one column.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string padded(const std::string& cell, std::size_t columns, bool colour) {
  std::string text = cell;
  if (colour) {
    for (const WordColour& row : kWordColours) {
      if (cell == row.word) text = fmt::format("{}{}{}", row.code, cell, kReset);
    }
  }
  return text + std::string(columns - std::min(columns, width(cell)), ' ');
}

std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                 bool colour) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += (i == 0 ? "" : "  ") + padded(cells[i], widths[i], colour);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

// Cells hold text out of files.
TextTable visible(const TextTable& table) {
  TextTable shown = table;
  for (std::string& title : shown.titles) title = visible_line(title);
  for (auto& row : shown.rows) {
    for (std::string& cell : row) cell = visible_line(cell);
  }
  return shown;
}

}  // namespace

std::string render(const TextTable& given, bool colour) {
  const TextTable table = visible(given);
  std::vector<std::size_t> widths;
  for (const std::string& title : table.titles) widths.push_back(width(title));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::vector<std::string> rule;
  for (const std::size_t columns : widths) rule.emplace_back(columns, '-');
  std::string text = line(table.titles, widths, false) + line(rule, widths, false);
  for (const auto& row : table.rows) text += line(row, widths, colour);
  return text;
}

}  // namespace msprobe::tables
