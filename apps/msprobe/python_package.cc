// SPDX-License-Identifier: Apache-2.0
#include "python_package.h"

#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/file_start.h"
#include "version.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPublicPrefix = "mindstudio_probe-";
constexpr std::string_view kPublicSuffix = ".dist-info";
constexpr std::string_view kOwnSentence = "msprobe: checks what an accelerator computes";

// Where an installation or a build directory has the package of a program in PREFIX/bin.
std::vector<fs::path> places(const fs::path& program) {
  const fs::path prefix = program.parent_path().parent_path();
  std::vector<fs::path> found{prefix, prefix / "python/msprobe"};  // the first: of a wheel
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", error)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      found.push_back(entry.path() / packages / "msprobe");
    }
  }
  return found;
}

bool is_own(const fs::path& package) {
  const Result<std::string> start = load_start(package / "__init__.py", 1024);
  return start && start->find(kOwnSentence) != std::string::npos;
}

std::optional<std::string> public_version(const fs::path& packages) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(packages, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPublicPrefix) && name.ends_with(kPublicSuffix)) {
      return name.substr(kPublicPrefix.size(),
                         name.size() - kPublicPrefix.size() - kPublicSuffix.size());
    }
  }
  return std::nullopt;
}

}  // namespace

std::string describe_python_package(const fs::path& program) {
  for (const fs::path& package : places(program)) {
    std::error_code error;
    if (!fs::is_regular_file(package / "__init__.py", error)) continue;
    const std::optional<std::string> other = public_version(package.parent_path());
    const bool own = is_own(package);
    std::string text;
    if (other) {
      text = fmt::format(
          "mindstudio-probe {} is installed in {} too: it has the same import name and command, "
          "and "
          "pip mixes the files of both. Keep one: pip uninstall -y mindstudio-probe msprobe, then "
          "install the one you want\n",
          *other, package.parent_path().string());
    }
    return text + fmt::format("Python package in {}: {}\n", package.string(),
                              own ? fmt::format("msprobe {}", kVersion)
                                  : "of another tool, not of this msprobe");
  }
  return {};
}

}  // namespace msprobe::app
