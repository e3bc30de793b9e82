// SPDX-License-Identifier: Apache-2.0
// msprobe-engine: the worker process of msprobe. The engine itself is a library beside this
// program, which links no LibTorch: it loads that library, or becomes the user's Python, which does
// so after it has imported the plug-in of the device.
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "engine.h"
#include "protocol/frames.h"
#include "python_host.h"

namespace {

using namespace msprobe;

constexpr int kCannotWork = 2;

int give_up(std::string message) {
  (void)protocol::write_all(STDOUT_FILENO, protocol::encode(protocol::Fatal{std::move(message)}));
  return kCannotWork;
}

// After an error of an asynchronous launch nothing that a device gives can be believed, and which
// operator failed is unknown. What the user has set stays.
void launch_one_by_one() {
  for (const char* name : {"ASCEND_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"}) {
    ::setenv(name, "1", /*overwrite=*/0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  launch_one_by_one();
  std::error_code error;
  const std::filesystem::path directory =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::span<char*> arguments(argv + 1, argv + argc);
  const engine::Plugin plugin = engine::plugin_for(arguments);
  const auto become_python = [&] {
    return give_up(engine::become_python(plugin, directory, arguments));
  };
  if (plugin.is_sure()) return become_python();
  // Python looks for the plug-in while LibTorch is loaded.
  engine::PluginSearch search(plugin);
  const std::string library = (directory / "libmsprobe-engine.so").string();
  void* const loaded = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (search.found()) return become_python();
  void* const entry = loaded == nullptr ? nullptr : ::dlsym(loaded, "msprobe_engine_main");
  if (entry == nullptr) {
    const std::string why = ::dlerror();
    fmt::print(stderr, "msprobe-engine: {}\n", why);
    return kCannotWork;
  }
  const int status = reinterpret_cast<decltype(&msprobe_engine_main)>(entry)(
      argc, argv, STDIN_FILENO, STDOUT_FILENO, 0, 0);
  // The back end may wait for ever for its device while it is taken down.
  if (status == protocol::kDeviceGone) std::_Exit(status);
  return status;
}
