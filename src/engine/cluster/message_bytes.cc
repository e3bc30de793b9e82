// SPDX-License-Identifier: Apache-2.0
#include "cluster/message_bytes.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace msprobe::cluster {
namespace {

constexpr std::size_t kHeadBytes = sizeof(std::uint64_t) + sizeof(MessageKind);

// Host 0 has the queue: it sends orders to the others, and they report to it.
bool may_send(std::size_t from, MessageKind kind) {
  return (from == 0) == (kind < MessageKind::kOutput);
}

}  // namespace

std::string to_bytes(const Message& message) {
  std::string bytes(kHeadBytes, '\0');
  std::memcpy(bytes.data(), &message.engine, sizeof message.engine);
  std::memcpy(bytes.data() + sizeof message.engine, &message.kind, sizeof message.kind);
  return bytes += message.bytes;
}

std::optional<Message> message_of(std::size_t from, std::string_view bytes) {
  if (bytes.size() < kHeadBytes || bytes.size() > kMostMessageBytes) return std::nullopt;
  Message message{.host = from};
  std::memcpy(&message.engine, bytes.data(), sizeof message.engine);
  const auto kind = static_cast<std::uint8_t>(bytes[sizeof message.engine]);
  if (kind > std::to_underlying(MessageKind::kEnded)) return std::nullopt;
  message.kind = static_cast<MessageKind>(kind);
  if (!may_send(from, message.kind)) return std::nullopt;
  message.bytes = bytes.substr(kHeadBytes);
  return message;
}

}  // namespace msprobe::cluster
