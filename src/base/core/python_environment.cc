// SPDX-License-Identifier: Apache-2.0
#include "core/python_environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace msprobe {
namespace {

constexpr std::string_view kSearchPath = "PYTHONPATH=";
constexpr std::string_view kSafePath = "PYTHONSAFEPATH=";
// Directories that Python takes code from.
constexpr auto kDirectories =
    std::to_array<std::string_view>({"PYTHONHOME=", "PYTHONUSERBASE=", "PYTHONPYCACHEPREFIX="});

// Below the current directory.
bool is_relative_directory(std::string_view variable) {
  const auto* found = std::ranges::find_if(
      kDirectories, [&](std::string_view name) { return variable.starts_with(name); });
  return found != kDirectories.end() && !variable.substr(found->size()).starts_with('/');
}

}  // namespace

std::string user_python() {
  const auto set = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (std::string named = set("MSPROBE_PYTHON"); !named.empty()) return named;
  for (const char* environment : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string prefix = set(environment);
    const std::string program = prefix + "/bin/python3";
    if (!prefix.empty() && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return "python3";
}

std::string absolute_entries(const std::string& search_path) {
  std::string kept;
  for (std::size_t begin = 0; begin < search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', begin), search_path.size());
    if (search_path[begin] == '/') {
      kept += kept.empty() ? "" : ":";
      kept += search_path.substr(begin, end - begin);
    }
    begin = end + 1;
  }
  return kept;
}

PythonEnvironment::PythonEnvironment() {
  bool is_safe = false;
  for (char* const* variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with(kSearchPath)) {
      const std::string kept = absolute_entries(std::string(text.substr(kSearchPath.size())));
      if (!kept.empty()) variables_.push_back(std::string(kSearchPath) + kept);
    } else if (text != kSafePath &&
               !is_relative_directory(text)) {  // an empty one counts for nothing
      is_safe = is_safe || text.starts_with(kSafePath);
      variables_.emplace_back(text);
    }
  }
  if (!is_safe) variables_.push_back(std::string(kSafePath) + "msprobe");
  for (std::string& variable : variables_) pointers_.push_back(variable.data());
  pointers_.push_back(nullptr);
}

}  // namespace msprobe
