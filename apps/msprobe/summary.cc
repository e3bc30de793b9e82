// SPDX-License-Identifier: Apache-2.0
#include "summary.h"

#include <fmt/format.h>

#include "cli/parser.h"
#include "tables/output_file.h"

namespace msprobe::app {

void declare_json(cli::Parser& command, std::string& json) {
  command.group("Output");
  command.flag("--json", json, "print the summary as JSON, or write it to FILE (*.json)");
}

Result<void> write_json(const std::string& json, const std::string& json_text) {
  if (json.empty()) return {};
  if (json == "true") {
    fmt::print("{}\n", json_text);
    return {};
  }
  Result<tables::OutputFile> file = tables::OutputFile::create(json);
  if (!file) return propagate(file);
  file->buffer() = json_text + "\n";
  return file->commit();
}

Result<void> show_summary(const std::string& json, const std::string& json_text,
                          const std::string& text) {
  if (json != "true") fmt::print("{}", text);
  return write_json(json, json_text);
}

}  // namespace msprobe::app
