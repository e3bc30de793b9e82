// SPDX-License-Identifier: Apache-2.0
#include "check/config.h"

namespace msprobe::check {
namespace {

namespace fs = std::filesystem;

const fs::path kInPackage = fs::path("pytorch") / "api_accuracy_checker" / "config.yaml";

// The program sits in the package (msprobe/bin/msprobe) or in an environment's bin beside
// lib/pythonX.Y/site-packages/msprobe.
std::optional<fs::path> in_python_package(const fs::path& prefix) {
  std::error_code error;
  if (fs::exists(prefix / kInPackage, error)) return prefix / kInPackage;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", error)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    fs::path candidate = entry.path() / "site-packages" / "msprobe" / kInPackage;
    if (fs::exists(candidate, error)) return candidate;
  }
  return std::nullopt;
}

}  // namespace

std::optional<fs::path> find_config_yaml(const ConfigPlaces& places) {
  if (places.option) return places.option;
  if (places.environment) return places.environment;
  if (places.program.empty()) return std::nullopt;
  const fs::path prefix = places.program.parent_path().parent_path();
  if (auto found = in_python_package(prefix)) return found;
  std::error_code error;
  fs::path shared = prefix / "share" / "msprobe" / "config.yaml";
  if (fs::exists(shared, error)) return shared;
  return std::nullopt;
}

}  // namespace msprobe::check
