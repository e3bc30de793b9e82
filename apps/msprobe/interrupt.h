// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and SIGHUP as a descriptor that becomes readable, so that a job can end cleanly.
#pragma once

#include <csignal>

#include "core/descriptor.h"

namespace msprobe::app {

// While it lives, these signals do not end the process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  int descriptor() const { return signals_.get(); }

 private:
  sigset_t before_{};
  Descriptor signals_;
};

}  // namespace msprobe::app
