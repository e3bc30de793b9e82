// SPDX-License-Identifier: Apache-2.0
#include "interrupt.h"

#include <sys/signalfd.h>

namespace msprobe::app {

Interrupt::Interrupt() {
  // A failing write is reported where it happens: an engine that died, a file beyond its limit.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&wanted, signal);
  ::sigprocmask(SIG_BLOCK, &wanted, &before_);
  signals_ = Descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

// What arrived meanwhile was heeded; only its like that come later end the process.
Interrupt::~Interrupt() {
  signalfd_siginfo taken{};
  while (::read(signals_.get(), &taken, sizeof taken) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace msprobe::app
