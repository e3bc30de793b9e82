// SPDX-License-Identifier: Apache-2.0
#include "core/shrunken_file.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace msprobe {
namespace {

std::uintptr_t page_size = 0;  // asked before the first signal

// The pages that were lost last; 0: none. Nothing else is safe in a handler.
std::array<std::atomic<std::uintptr_t>, 256>
    lost_pages;                           // NOLINT(*-avoid-non-const-global-variables)
std::atomic<std::size_t> lost_count = 0;  // NOLINT(*-avoid-non-const-global-variables)

void put_zeros(int, siginfo_t* info, void*) {
  const int error = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr) / page_size * page_size;
  const bool is_done = info->si_code == BUS_ADRERR &&
                       ::mmap(reinterpret_cast<void*>(address), page_size, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  if (is_done) lost_pages[lost_count++ % lost_pages.size()] = address;
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
  const auto begin = reinterpret_cast<std::uintptr_t>(file.bytes.data());
  for (const std::atomic<std::uintptr_t>& page : lost_pages) {
    if (page >= begin && page < begin + file.bytes.size()) return true;
  }
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return !error && size < file.bytes.size();
}

void forget_lost_pages(const void* mapping, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping);
  for (std::atomic<std::uintptr_t>& page : lost_pages) {
    if (page >= begin && page < begin + size) page = 0;
  }
}

}  // namespace msprobe
