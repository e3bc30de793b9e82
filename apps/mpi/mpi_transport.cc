// SPDX-License-Identifier: Apache-2.0
#include "mpi_transport.h"

#include <cstring>
#include <utility>

namespace msprobe::app {
namespace {

using cluster::Message;
using cluster::MessageKind;

constexpr int kTag = 1;
constexpr std::size_t kHeadBytes = sizeof(std::uint64_t) + sizeof(MessageKind);

std::string packed(const Message& message) {
  std::string bytes(kHeadBytes, '\0');
  std::memcpy(bytes.data(), &message.engine, sizeof message.engine);
  std::memcpy(bytes.data() + sizeof message.engine, &message.kind, sizeof message.kind);
  return bytes += message.bytes;
}

Message unpacked(std::size_t host, const std::string& bytes) {
  Message message{.host = host};
  std::memcpy(&message.engine, bytes.data(), sizeof message.engine);
  std::memcpy(&message.kind, bytes.data() + sizeof message.engine, sizeof message.kind);
  message.bytes = bytes.substr(kHeadBytes);
  return message;
}

}  // namespace

void MpiTransport::send(const Message& message) {
  forget_sent();
  Leaving& leaving = leaving_.emplace_back();
  leaving.bytes = packed(message);
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
  std::string bytes(static_cast<std::size_t>(count), '\0');
  MPI_Mrecv(bytes.data(), count, MPI_BYTE, &waiting, MPI_STATUS_IGNORE);
  if (bytes.size() < kHeadBytes) return std::nullopt;
  return unpacked(static_cast<std::size_t>(status.MPI_SOURCE), bytes);
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
