// SPDX-License-Identifier: Apache-2.0
// Messages over MPI, between rank 0 and the others.
#pragma once

#include <deque>
#include <string>

#include <mpi.h>

#include "cluster/transport.h"

namespace msprobe::app {

class MpiTransport : public cluster::Transport {
 public:
  void send(const cluster::Message& message) override;
  std::optional<cluster::Message> receive() override;

  // Waits until all that was sent has left.
  void finish();

 private:
  // A message stays in memory until MPI has taken it.
  struct Leaving {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void forget_sent();

  std::deque<Leaving> leaving_;
};

}  // namespace msprobe::app
