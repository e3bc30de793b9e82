// SPDX-License-Identifier: Apache-2.0
#include "python_host.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/python_environment.h"
#include "host_program.h"

namespace msprobe::engine {
namespace {

constexpr const char* kPythonVariable = "MSPROBE_PYTHON";

struct Row {
  std::string_view kind, module;
};
// PyTorch itself may have the devices xpu; host.py goes on without that module.
constexpr auto kPlugins = std::to_array<Row>({
    {"hpu", "habana_frameworks.torch"},
    {"mlu", "torch_mlu"},
    {"musa", "torch_musa"},
    {"npu", "torch_npu"},
    {"xla", "torch_xla"},
    {"xpu", "intel_extension_for_pytorch"},
});
constexpr std::string_view kOfBareIds = "torch_npu";

// Runs after kCleanPythonPath.
constexpr const char* kLook =
    "import importlib.util\n"
    "sys.exit(importlib.util.find_spec(sys.argv[1]) is None)\n";

// "a.b_c": no file of a library is called so.
bool is_module(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  return !name.empty() && std::ranges::all_of(name, fits) && !name.starts_with('.') &&
         !name.ends_with(".so") && name.find(".so.") == std::string_view::npos;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// What follows `name`, as "--name value" or "--name=value"; the last one counts.
std::string_view value_of(std::span<char* const> arguments, std::string_view name) {
  std::string_view value;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == name && i + 1 < arguments.size()) value = arguments[i + 1];
    if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
      value = word.substr(name.size() + 1);
    }
  }
  return value;
}

std::string_view kind_of(std::string_view device) {
  return device.substr(0, device.find_first_of(":,"));
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Whether Python functions of the user's are to run: files of them, or the compiler of PyTorch.
bool wants_functions(std::span<char* const> arguments) {
  return !value_of(arguments, "--reference").empty() || !value_of(arguments, "--kernel").empty() ||
         kind_of(value_of(arguments, "--device")) == "inductor";
}

Plugin device_plugin(std::span<char* const> arguments) {
  using Need = Plugin::Need;
  const std::string_view library = value_of(arguments, "--device-lib");
  if (!library.empty()) {
    return is_module(library) ? Plugin{std::string(library), Need::kSure} : Plugin{};
  }
  const std::string_view names = value_of(arguments, "--device");
  const bool several = names.find(',') != std::string_view::npos;
  const std::string_view first = names.substr(0, names.find(','));
  const bool on_sim = std::ranges::any_of(
      arguments, [](std::string_view word) { return word.starts_with("--sim-"); });
  if (is_number(first)) {
    return on_sim ? Plugin{} : Plugin{std::string(kOfBareIds), Need::kIfInstalled};
  }
  const auto row = std::ranges::find(kPlugins, first.substr(0, first.find(':')), &Row::kind);
  if (row == kPlugins.end()) return {};
  return {std::string(row->module), several ? Need::kIfInstalled : Need::kSure};
}

// As host.py takes it: "" for none, "?torch_npu" for one that may be missing.
std::string module_word(const Plugin& plugin) {
  return (plugin.need == Plugin::Need::kIfInstalled ? "?" : "") + plugin.module;
}

}  // namespace

Plugin plugin_for(std::span<char* const> arguments) {
  Plugin plugin = device_plugin(arguments);
  plugin.for_functions = wants_functions(arguments);
  return plugin;
}

PluginSearch::PluginSearch(const Plugin& plugin) {
  if (plugin.need != Plugin::Need::kIfInstalled) return;
  std::vector<std::string> words{user_python(), "-c", std::string(kCleanPythonPath) + kLook,
                                 plugin.module};
  PythonEnvironment environment;
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", O_RDWR, 0);
  }
  if (::posix_spawnp(&pid_, words[0].c_str(), &files, nullptr, pointers_to(words).data(),
                     environment.get()) != 0) {
    pid_ = -1;
  }
  ::posix_spawn_file_actions_destroy(&files);
}

bool PluginSearch::found() {
  if (pid_ <= 0) return false;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string become_python(const Plugin& plugin, const std::filesystem::path& directory,
                          std::span<char* const> arguments) {
  std::vector<std::string> words{
      user_python(),      "-c", std::string(kHostProgram), directory.string(), MSPROBE_ENGINE_TORCH,
      module_word(plugin)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  PythonEnvironment environment;
  ::execvpe(words[0].c_str(), pointers_to(words).data(), environment.get());
  if (plugin.for_functions) {
    return fmt::format(
        "functions of --reference and --kernel need a Python, and {} cannot be started "
        "({}): name one that has PyTorch: {}=PATH",
        words[0], std::strerror(errno), kPythonVariable);
  }
  return fmt::format(
      "no device {}: the plug-in {} needs a Python, and {} cannot be started ({}): "
      "name the Python that has it: {}=PATH",
      value_of(arguments, "--device"), plugin.module, words[0], std::strerror(errno),
      kPythonVariable);
}

}  // namespace msprobe::engine
