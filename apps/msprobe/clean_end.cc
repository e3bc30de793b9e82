// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <initializer_list>
#include <string_view>

#include <poll.h>
#include <unistd.h>

#include "command_line.h"
#include "core/new_file.h"
#include "exit_status.h"

namespace msprobe::app {
namespace {

// Async-signal-safe calls only.
void end_by_signal(int number) {
  remove_unfinished_files();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void end_by_shrunken_file(int number, siginfo_t* info, void* /*context*/) {
  if (info->si_code != BUS_ADRERR) {
    end_by_signal(number);
    return;
  }
  constexpr std::string_view kText =
      "ERROR: a file became smaller while it was read, or its disk failed\n";
  remove_unfinished_files();
  if (::write(STDERR_FILENO, kText.data(), kText.size()) < 0) ::_exit(kCannot);
  ::_exit(kCannot);
}

// `msprobe ... | head`: nobody waits for the rest.
bool reader_is_gone() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace

void end_cleanly() {
  ::signal(SIGXFSZ, SIG_IGN);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction before{};
    // nohup ignores SIGHUP, and that stays.
    if (::sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    ::signal(number, &end_by_signal);
  }
  struct sigaction shrunken{};
  shrunken.sa_sigaction = &end_by_shrunken_file;
  shrunken.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &shrunken, nullptr);
}

bool standard_output_arrived() {
  errno = 0;
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed || errno == EPIPE || errno == EBADF || reader_is_gone()) return true;
  if (errno == 0) errno = EIO;  // an earlier write failed, and its reason is gone
  return false;
}

}  // namespace msprobe::app
