// SPDX-License-Identifier: Apache-2.0
#include "core/shrunken_file.h"

#include <cerrno>
#include <csignal>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace msprobe {
namespace {

std::uintptr_t page_size = 0;  // asked before the first signal

void put_zeros(int, siginfo_t* info, void*) {
  const int error = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr) / page_size * page_size;
  const bool is_done = info->si_code == BUS_ADRERR &&
                       ::mmap(reinterpret_cast<void*>(address), page_size, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  // Any other fault comes again at once, and ends the process.
  if (!is_done) ::signal(SIGBUS, SIG_DFL);
  errno = error;
}

}  // namespace

void install_sigbus_handler() {
  page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action{};
  action.sa_sigaction = &put_zeros;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

bool has_shrunk(const std::filesystem::path& path, const FileBytes& file) {
  if (!file.mapped) return false;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return !error && size < file.bytes.size();
}

}  // namespace msprobe
