// SPDX-License-Identifier: Apache-2.0
#include "report/call_groups.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "core/file.h"

namespace msprobe::report {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoStack = "no recorded stack";
constexpr std::size_t kDeepest = 64;  // levels of a tree; a path beyond it hangs at its root

// "Module.layers.0.attn.Attention" of "Module.layers.0.attn.Attention.forward.0".
std::string_view without_direction(std::string_view entry) {
  for (const std::string_view direction : {".forward", ".backward"}) {
    if (const std::size_t at = entry.rfind(direction); at != std::string_view::npos) {
      return entry.substr(0, at);
    }
  }
  return entry;
}

struct ModuleName {
  std::string_view path;  // "layers.0.attn", as call_sites.json has it
  std::string_view kind;  // "Attention"; empty: not a module, such as "optimizer"
};

ModuleName module_name(std::string_view entry) {
  constexpr std::string_view kModule = "Module.";
  if (!entry.starts_with(kModule)) return {entry, {}};
  const std::string_view name = without_direction(entry).substr(kModule.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {name, {}};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::string line_group(const ReportRun& run, const ReportCall& call) {
  const StackFrame* frame = call.stack ? own_frame(run.stacks[*call.stack]) : nullptr;
  if (frame == nullptr) return std::string(kNoStack);
  return fmt::format("{}:{}  {}", fs::path(frame->file).filename().string(), frame->line,
                     frame->code);
}

void group_by_line(ReportRun& run) {
  bool any = false;
  for (ReportCall& call : run.calls) {
    call.group = line_group(run, call);
    any = any || call.group != kNoStack;
  }
  if (any) {
    run.group_title = "source line";
    return;
  }
  for (ReportCall& call : run.calls) call.group = call.name.substr(0, call.name.find('.'));
}

// call_sites.json names the model itself by its class, where its parts have their paths: the only
// path that looks like a class. Empty: there is none.
std::string model_of(const std::set<std::string, std::less<>>& paths) {
  std::string found;
  for (const std::string& path : paths) {
    const bool is_class = path[0] >= 'A' && path[0] <= 'Z' && !path.contains('.');
    if (!is_class) continue;
    if (!found.empty()) return {};
    found = path;
  }
  return found;
}

// Every path below its prefix, those without one below the model.
void hang_up(ReportRun& run, const std::set<std::string, std::less<>>& paths) {
  const std::string model = model_of(paths);
  std::set<std::string, std::less<>> known;
  for (const std::string& path : paths) {
    std::string_view at = path;
    const bool deep = static_cast<std::size_t>(std::ranges::count(at, '.')) >= kDeepest;
    while (known.emplace(at).second) {
      const std::size_t dot = deep ? std::string_view::npos : at.rfind('.');
      const std::string_view parent =
          dot != std::string_view::npos ? at.substr(0, dot) : std::string_view(model);
      run.group_parents.emplace_back(at, parent == at ? std::string_view() : parent);
      if (parent.empty() || parent == at) break;
      at = parent;
    }
  }
}

}  // namespace

Result<ModuleNames> read_construct(const fs::path& path) {
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  simdjson::dom::parser parser;
  simdjson::dom::object parents;
  const simdjson::padded_string padded(file->text());
  if (parser.parse(padded).get_object().get(parents) != simdjson::SUCCESS) {
    return fail(ErrorKind::kFormat, fmt::format("{}: not a JSON object", path.string()));
  }
  constexpr std::string_view kForward = ".forward";
  ModuleNames modules;
  const auto see = [&](std::string_view entry) {
    const ModuleName module = module_name(entry);
    if (!module.kind.empty()) modules.classes.emplace(module.path, module.kind);
    return module.path;
  };
  for (const auto& [entry, parent] : parents) {
    const bool is_module = entry.starts_with("Module.");
    if (is_module) see(entry);
    std::string_view text;
    simdjson::dom::array list;
    if (parent.get(list) == simdjson::SUCCESS && list.at(0).get(text) != simdjson::SUCCESS)
      continue;
    if (text.empty() && parent.get(text) != simdjson::SUCCESS) continue;
    const std::string_view module = see(text);
    if (is_module || module.empty() || !entry.ends_with(kForward)) continue;
    modules.of_call.emplace(entry.substr(0, entry.size() - kForward.size()), module);
  }
  return modules;
}

void group_calls(ReportRun& run, const ModuleNames& modules) {
  std::set<std::string, std::less<>> paths;
  std::vector<std::string> modules_of_calls;
  for (const ReportCall& call : run.calls) {
    std::string& module = modules_of_calls.emplace_back(call.site.module);
    if (module.empty()) {
      const auto found = modules.of_call.find(call.name);
      if (found != modules.of_call.end()) module = found->second;
    }
    if (!module.empty()) paths.insert(module);
  }
  group_by_line(run);
  if (paths.empty()) return;
  const bool by_line = run.group_title == "source line";
  run.group_title = "module";
  hang_up(run, paths);
  std::set<std::string> outside;
  for (std::size_t i = 0; i < run.calls.size(); ++i) {
    ReportCall& call = run.calls[i];
    if (!modules_of_calls[i].empty()) {
      call.group = std::move(modules_of_calls[i]);
    } else if (!by_line || call.group == kNoStack) {
      call.group = kOutsideTheModel;
    } else if (outside.insert(call.group).second) {
      run.group_parents.emplace_back(call.group, kOutsideTheModel);
    }
  }
  for (const auto& [group, parent] : run.group_parents) {
    const auto found = modules.classes.find(group);
    if (found != modules.classes.end()) run.group_kinds.emplace(group, found->second);
  }
}

}  // namespace msprobe::report
