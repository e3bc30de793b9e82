// SPDX-License-Identifier: Apache-2.0
#include "report/scripts.h"

#include <cstddef>

#include "core/file.h"
#include "report/report_files.h"

namespace msprobe::report {

namespace fs = std::filesystem;

namespace {

// A script with all its numbers in it has a few kilobytes.
constexpr std::size_t kLongestScript = std::size_t{64} << 10;

}  // namespace

fs::path scripts_directory(const fs::path& details_csv) {
  return beside_csv(details_csv, "scripts", "");
}

void read_scripts(ReportRun& run, const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) return;
  const Result<Directory> scripts = Directory::open(directory);
  if (!scripts) return;
  for (ReportCall& call : run.calls) {
    const Result<FileBytes> script = scripts->load(call.name + "/reproduce.py", kLongestScript);
    if (script) call.script = script->text();
  }
}

}  // namespace msprobe::report
