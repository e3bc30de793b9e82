// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/diff_analysis.h"

#include <map>
#include <string_view>

#include <fmt/format.h>

#include "core/file.h"
#include "core/json_writer.h"
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

Result<void> collect_rows(const std::filesystem::path& table,
                          std::map<std::string, CallRowTexts, std::less<>>& calls) {
  const Result<FileBytes> file = load_file(table);
  if (!file) return propagate(file);
  tables::CsvReader reader(file->text(), table.string());
  std::vector<std::string> titles;
  while (true) {
    const Result<bool> more = reader.next();
    if (!more) return propagate(more);
    if (!*more) return {};
    const auto& cells = reader.cells();
    if (titles.empty()) {
      titles.assign(cells.begin(), cells.end());
      continue;
    }
    // "Torch.matmul.3.forward.output.0": the longest entry that it begins with.
    for (std::size_t dot = cells.front().rfind('.'); dot != std::string_view::npos && dot > 0;
         dot = cells.front().rfind('.', dot - 1)) {
      const auto found = calls.find(cells.front().substr(0, dot));
      if (found == calls.end()) continue;
      const std::string_view place = cells.front().substr(dot + 1);
      const bool is_output = place.starts_with("output");
      const std::string_view state = is_output                         ? "output"
                                     : place.starts_with("parameters") ? "parameters"
                                                                       : "input";
      (is_output ? found->second.output : found->second.input)
          .push_back(row_text(titles, cells, found->first, state));
      break;
    }
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
                                  const TablesOf& tables_of) {
  std::map<int, std::vector<const divergence::Divergence*>> ranks;
  for (const divergence::Divergence& origin : report.origins) ranks[origin.rank].push_back(&origin);
  std::string text = "{";
  for (const auto& [rank, origins] : ranks) {
    std::map<std::string, CallRowTexts, std::less<>> calls;
    for (const divergence::Divergence* origin : origins) calls[origin->target];
    for (const std::filesystem::path& table : tables_of(rank)) {
      if (const auto done = collect_rows(table, calls); !done) return propagate(done);
    }
    text += fmt::format("{}\n\"rank_{}\": [", text.size() > 1 ? "," : "", rank);
    for (std::size_t i = 0; i < origins.size(); ++i) {
      text += (i > 0 ? ",\n" : "\n") + call_text(*origins[i], calls[origins[i]->target]);
    }
    text += "]";
  }
  return text + "\n}\n";
}

}  // namespace msprobe::dump_compare
