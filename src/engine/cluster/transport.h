// SPDX-License-Identifier: Apache-2.0
// Connects the process that holds the queue (host 0) with the processes on other machines: messages
// about one engine each, in the order they were sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace msprobe::cluster {

// What is read of a stream at a time, to be sent on.
inline constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

enum class MessageKind : std::uint8_t {
  // From host 0.
  kStart,  // bytes: the command, as encode_command() writes it
  kInput,  // bytes for the engine's standard input
  kCloseInput,
  kKill,
  kQuit,  // no more engines will be wanted
  // To host 0.
  kOutput,  // bytes of the engine's standard output
  kErrors,  // and of its standard error
  kMemory,  // bytes: how much it holds, as a decimal number
  kEnded,   // bytes: its wait status, as a decimal number
};

struct Message {
  std::size_t host = 0;      // the other side: where it goes, or where it came from
  std::uint64_t engine = 0;  // chosen by host 0
  MessageKind kind = MessageKind::kQuit;
  std::string bytes = {};
};

// Used by one thread.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual void send(const Message& message) = 0;
  // Never waits.
  virtual std::optional<Message> receive() = 0;
};

}  // namespace msprobe::cluster
