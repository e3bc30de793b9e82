// SPDX-License-Identifier: Apache-2.0
// Devices whose plug-in of PyTorch needs a Python around it: the engine's library runs in the
// user's Python then.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include <sys/types.h>

namespace msprobe::engine {

struct Plugin {
  enum class Need : std::uint8_t { kNone, kIfInstalled, kSure };
  std::string module = {};  // "torch_npu"
  Need need = Need::kNone;
  bool for_functions = false;  // the user's: sure of Python, whatever the device needs

  bool is_sure() const { return need == Need::kSure || for_functions; }
};

// The plug-in for the device that the engine's arguments name. kIfInstalled: for a bare id or a
// list of devices, of which the first that exists counts.
Plugin plugin_for(std::span<char* const> arguments);

// Asks the user's Python whether it has a plug-in, without importing it.
class PluginSearch {
 public:
  // Begins; does nothing where none is needed.
  explicit PluginSearch(const Plugin& plugin);
  // Waits for the answer.
  bool found();

 private:
  pid_t pid_ = -1;
};

// Replaces this program by the user's Python, running host.py. Returns only if that fails: why.
std::string become_python(const Plugin& plugin, const std::filesystem::path& directory,
                          std::span<char* const> arguments);

}  // namespace msprobe::engine
