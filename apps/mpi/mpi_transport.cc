// SPDX-License-Identifier: Apache-2.0
#include "mpi_transport.h"

#include "cluster/message_bytes.h"
#include "core/log.h"
#include "exit_status.h"

namespace msprobe::app {
namespace {

using cluster::Message;

constexpr int kTag = 1;

}  // namespace

void MpiTransport::send(const Message& message) {
  forget_sent();
  Leaving& leaving = leaving_.emplace_back();
  leaving.bytes = to_bytes(message);
  MPI_Isend(leaving.bytes.data(), static_cast<int>(leaving.bytes.size()), MPI_BYTE,
            static_cast<int>(message.host), kTag, MPI_COMM_WORLD, &leaving.request);
}

std::optional<Message> MpiTransport::receive() {
  forget_sent();
  int there = 0;
  MPI_Message waiting = MPI_MESSAGE_NULL;
  MPI_Status status;
  MPI_Improbe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &waiting, &status);
  if (there == 0) return std::nullopt;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  if (count < 0 || static_cast<std::size_t>(count) > cluster::kMostMessageBytes) {
    log::error("rank {} sent a message of {} bytes, which no msprobe-mpi does; the job ends",
               status.MPI_SOURCE, count);
    MPI_Abort(MPI_COMM_WORLD, kCannot);
  }
  std::string bytes(static_cast<std::size_t>(count), '\0');
  MPI_Mrecv(bytes.data(), count, MPI_BYTE, &waiting, MPI_STATUS_IGNORE);
  return cluster::message_of(static_cast<std::size_t>(status.MPI_SOURCE), bytes);
}

void MpiTransport::forget_sent() {
  while (!leaving_.empty()) {
    int done = 0;
    MPI_Test(&leaving_.front().request, &done, MPI_STATUS_IGNORE);
    if (done == 0) return;
    leaving_.pop_front();
  }
}

void MpiTransport::finish() {
  for (Leaving& each : leaving_) MPI_Wait(&each.request, MPI_STATUS_IGNORE);
  leaving_.clear();
}

}  // namespace msprobe::app
