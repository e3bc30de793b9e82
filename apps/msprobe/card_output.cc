// SPDX-License-Identifier: Apache-2.0
#include "card_output.h"

#include <algorithm>

#include <fmt/format.h>

#include "card/summary.h"
#include "cli/help_text.h"
#include "core/visible_text.h"
#include "tables/text_table.h"

namespace msprobe::app {
namespace {

using card::Card;
using card::Confidence;
using card::Line;

constexpr std::size_t kWidestCell = 40;

// In the order of their first lines.
template <class Part>
std::vector<std::string> distinct(const Card& card, const std::string& section, const Part& part) {
  std::vector<std::string> found;
  for (const Line& line : card.lines) {
    if (!section.empty() && line.section != section) continue;
    if (std::ranges::find(found, line.*part) == found.end()) found.push_back(line.*part);
  }
  return found;
}

std::string value_text(const Line& line) {
  if (line.confidence == Confidence::kNone) return "cannot tell";
  if (line.confidence == Confidence::kHigh) return visible_line(line.value);
  return fmt::format("{} ({})", visible_line(line.value), name(line.confidence));
}

// The longer list goes downward. What is too wide for a column follows below.
std::string section_table(const Card& card, const std::string& section) {
  const std::vector<std::string> subjects = distinct(card, section, &Line::subject);
  const std::vector<std::string> fields = distinct(card, section, &Line::field);
  const bool by_subject = subjects.size() > fields.size();
  const std::vector<std::string>& down = by_subject ? subjects : fields;
  const std::vector<std::string>& across = by_subject ? fields : subjects;
  tables::TextTable table{{section}, {}};
  for (const std::string& title : across) table.titles.push_back(visible_line(title));
  std::string below;
  for (const std::string& row : down) {
    std::vector<std::string> cells{visible_line(row)};
    bool wide = false;
    for (const std::string& column : across) {
      const Line* line =
          card::find(card, section, by_subject ? row : column, by_subject ? column : row);
      cells.push_back(line == nullptr ? "" : value_text(*line));
      if (cells.back().size() <= kWidestCell) continue;
      below += fmt::format("{} of {}: {}\n", visible_line(line->field), visible_line(line->subject),
                           cells.back());
      cells.back() = "see below";
      wide = true;
    }
    const bool all_below =
        wide && std::ranges::all_of(cells.begin() + 1, cells.end(), [](const std::string& cell) {
          return cell == "see below" || cell.empty();
        });
    if (!all_below) table.rows.push_back(std::move(cells));
  }
  return tables::render(table, false) + below;
}

std::string every_line(const Card& card) {
  std::string text;
  for (const Line& line : card.lines) {
    text += fmt::format("{} {} / {}: {} [{}]\n    {}\n", visible_line(line.section),
                        visible_line(line.subject), visible_line(line.field),
                        line.value.empty() ? "cannot tell" : visible_line(line.value),
                        name(line.confidence), visible_line(line.evidence));
  }
  return text;
}

}  // namespace

std::string card_text(const Card& card, bool with_evidence, std::size_t columns) {
  std::string text =
      fmt::format("Card of {}, PyTorch {}\n", visible_line(card.device), visible_line(card.torch));
  for (const std::string& sentence : card::summary(card)) {
    for (const std::string& line : cli::wrap(visible_line(sentence), columns)) text += line + "\n";
  }
  text += "\n";
  if (with_evidence) return text + every_line(card);
  for (const std::string& section : distinct(card, "", &Line::section)) {
    text += section_table(card, section) + "\n";
  }
  return text;
}

std::string changes_text(const std::vector<card::Change>& changes) {
  if (changes.empty()) return "No claim differs.\n";
  tables::TextTable table{{"Section", "Subject", "Field", "Old", "New"}, {}};
  for (const card::Change& change : changes) {
    table.rows.push_back({visible_line(change.section), visible_line(change.subject),
                          visible_line(change.field), visible_line(change.before),
                          visible_line(change.after)});
  }
  return tables::render(table, false);
}

}  // namespace msprobe::app
