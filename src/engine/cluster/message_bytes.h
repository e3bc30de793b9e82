// SPDX-License-Identifier: Apache-2.0
// A message as the bytes that travel between machines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/transport.h"

namespace msprobe::cluster {

// The longest message that is taken: a piece of a stream, or the command of an engine.
inline constexpr std::size_t kMostMessageBytes = std::size_t{4} << 20;

std::string to_bytes(const Message& message);
// Nothing if the bytes are no message that host `from` may send.
std::optional<Message> message_of(std::size_t from, std::string_view bytes);

}  // namespace msprobe::cluster
