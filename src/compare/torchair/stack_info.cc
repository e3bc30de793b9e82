// SPDX-License-Identifier: Apache-2.0
#include "torchair/stack_info.h"

#include <algorithm>

#include "core/look_up.h"

namespace msprobe::torchair {

StackInfo parse_stack_info(std::string_view python) {
  constexpr std::string_view kNode = "node_name=\"";
  StackInfo stacks;
  std::string stack;
  bool after_node = false;
  while (!python.empty()) {
    const std::size_t end = std::min(python.find('\n'), python.size());
    std::string_view line = python.substr(0, end);
    python.remove_prefix(std::min(end + 1, python.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with("# File ")) {
      if (after_node) stack.clear();
      after_node = false;
      if (!stack.empty()) stack += "; ";
      stack += line.substr(2);
      if (stack.ends_with('\r')) stack.pop_back();
    } else if (const std::size_t at = line.find(kNode); at != std::string_view::npos) {
      const std::string_view name = line.substr(at + kNode.size());
      stacks.try_emplace(std::string(name.substr(0, name.find('"'))), stack);
      after_node = true;
    }
  }
  return stacks;
}

Result<StackInfo> read_stack_info(const std::filesystem::path& graph_text, DumpFiles& files) {
  std::filesystem::path python = graph_text;
  python.replace_extension(".py");
  if (const Result<bool> there = is_there(python); there && !*there) return StackInfo{};
  const Result<FileBytes> file = files.load(python);
  if (!file) return propagate(file);
  return parse_stack_info(file->text());
}

}  // namespace msprobe::torchair
