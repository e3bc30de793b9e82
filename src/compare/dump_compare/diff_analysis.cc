// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/json_writer.h"
#include "dump_compare/dump_table.h"
#include "tables/csv_reader.h"

namespace msprobe::dump_compare {
namespace {

// The rows of one call as JSON objects.
struct CallRowTexts {
  std::vector<std::string> input, output;
};

std::string row_text(const std::vector<std::string>& titles,
                     const std::vector<std::string_view>& cells, std::string_view entry,
                     std::string_view state) {
  JsonWriter json;
  json.begin_object();
  for (std::size_t i = 0; i < std::min(titles.size(), cells.size()); ++i) {
    json.key(titles[i]).value(cells[i]);
  }
  json.key("state").value(state).key("api_origin_name").value(entry).end_object();
  return json.text();
}

Result<CallRowTexts> rows_of(const std::string& table, std::string_view call) {
  CallRowTexts rows;
  tables::CsvReader reader(table, std::string(call));
  std::vector<std::string> titles;
  while (true) {
    const Result<bool> more = reader.next();
    if (!more) return propagate(more);
    if (!*more) return rows;
    const auto& cells = reader.cells();
    if (titles.empty()) {
      titles.assign(cells.begin(), cells.end());
      continue;
    }
    // "Torch.matmul.3.forward.output.0": the place follows the name of the call.
    const std::string_view name = cells.front();
    if (name.size() <= call.size() + 1 || !name.starts_with(call)) continue;
    const std::string_view place = name.substr(call.size() + 1);
    const bool is_output = place.starts_with("output");
    const std::string_view state = is_output                         ? "output"
                                   : place.starts_with("parameters") ? "parameters"
                                                                     : "input";
    (is_output ? rows.output : rows.input).push_back(row_text(titles, cells, call, state));
  }
}

std::string joined(const std::vector<std::string>& rows) {
  std::string text;
  for (const std::string& row : rows) text += (text.empty() ? "" : ",\n") + row;
  return text;
}

std::string call_text(const divergence::Divergence& origin, const CallRowTexts& rows) {
  JsonWriter name, stack;
  name.value(origin.target);
  stack.begin_array();
  for (const std::string& frame : origin.stack) stack.value(frame);
  stack.end_array();
  return fmt::format(
      "{{\"op_name\": {}, \"data_info\": {{\"input\": [{}],\n\"output\": [{}]}}, "
      "\"stack_info\": {}}}",
      name.text(), joined(rows.input), joined(rows.output), stack.text());
}

}  // namespace

Result<std::string> analysis_json(const divergence::DivergenceReport& report,
                                  const CallTables& tables) {
  std::map<int, std::vector<const divergence::Divergence*>> ranks;
  for (const divergence::Divergence& origin : report.origins) ranks[origin.rank].push_back(&origin);
  std::string text = "{";
  for (const auto& [rank, origins] : ranks) {
    text += fmt::format("{}\n\"rank_{}\": [", text.size() > 1 ? "," : "", rank);
    for (std::size_t i = 0; i < origins.size(); ++i) {
      const auto table = tables.find({rank, origins[i]->target});
      const Result<CallRowTexts> rows =
          rows_of(table == tables.end() ? "" : table->second, origins[i]->target);
      if (!rows) return propagate(rows);
      text += (i > 0 ? ",\n" : "\n") + call_text(*origins[i], *rows);
    }
    text += "]";
  }
  return text + "\n}\n";
}

}  // namespace msprobe::dump_compare
