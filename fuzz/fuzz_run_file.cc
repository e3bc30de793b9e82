// SPDX-License-Identifier: Apache-2.0
// The run file beside results, which may be of another person.
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_input.h"
#include "journal/run_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using msprobe::journal::RunFile;
  static const int file = ::memfd_create("run_file", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) < 0) return 0;
  const auto run = RunFile::inspect(path);
  if (!run) return 0;
  for (const auto& [key, value] : run->facts()) {
    if (key.find('\n') != std::string::npos) std::abort();
  }
  static_cast<void>(run->finished());
  return 0;
}
