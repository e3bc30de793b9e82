// SPDX-License-Identifier: Apache-2.0
#include "engines/wait_frame.h"

#include <chrono>

#include <poll.h>

namespace msprobe::engines {

std::optional<protocol::Frame> wait_for_frame(EngineProcess& process, double timeout_seconds) {
  using std::chrono::steady_clock;
  const steady_clock::time_point limit =
      steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(
                                std::chrono::duration<double>(timeout_seconds));
  while (steady_clock::now() < limit) {
    process.write_some();
    const bool writing = process.wants_to_write();
    pollfd polled[] = {{process.output(), POLLIN, 0},
                       {process.errors(), POLLIN, 0},
                       {writing ? process.input() : -1, POLLOUT, 0}};
    constexpr int kPollMilliseconds = 50;
    if (::poll(polled, std::size(polled), kPollMilliseconds) < 0) continue;
    process.read_errors();
    if (polled[0].revents == 0) continue;
    const Result<bool> more = process.read_some();
    const Result<std::optional<protocol::Frame>> frame = process.next_frame();
    if (!frame) return std::nullopt;
    if (*frame) return **frame;
    if (!more || !*more) return std::nullopt;
  }
  return std::nullopt;
}

bool ended_after_device_error(EngineProcess& process) {
  process.kill();
  return lost_its_device(process.wait());
}

}  // namespace msprobe::engines
