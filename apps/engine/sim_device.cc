// SPDX-License-Identifier: Apache-2.0
#include "sim_device.h"

#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

#include "libtorch/device.h"
#include "libtorch/version.h"

namespace msprobe::engine {
namespace {

using Configure = const char* (*)(const char* profile, const char* config, const char* log);

}  // namespace

bool is_sim(std::string_view device) { return device == "sim" || device.starts_with("sim:"); }

Result<void> load_sim(const SimSetup& setup) {
  std::error_code error;
  Dl_info own = {};
  ::dladdr(reinterpret_cast<const void*>(&load_sim), &own);
  const std::filesystem::path library =
      std::filesystem::path(own.dli_fname).parent_path() / "libmsprobe-sim.so";
  if (!std::filesystem::exists(library, error)) {
    return fail(ErrorKind::kUsage,
                fmt::format("no simulated device: {} does not exist; the engine is built with "
                            "one if PyTorch is 2.6 or later (this is {})",
                            library.string(), libtorch::version()));
  }
  if (Result<void> loaded = libtorch::load_back_end(library.string()); !loaded) return loaded;
  const auto configure =
      reinterpret_cast<Configure>(::dlsym(RTLD_DEFAULT, "msprobe_sim_configure"));
  if (configure == nullptr) {
    return fail(ErrorKind::kUsage,
                fmt::format("{}: not the simulated device of msprobe", library.string()));
  }
  const char* problem = configure(setup.profile.c_str(), setup.config.c_str(), setup.log.c_str());
  if (problem != nullptr) return fail(ErrorKind::kUsage, problem);
  return {};
}

}  // namespace msprobe::engine
