// SPDX-License-Identifier: Apache-2.0
#include "engines/greeting.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

namespace msprobe::engines {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookAgain(100);

// What PyTorch and its plug-ins print by the way says nothing about an end: "[W1118 20:33:32 ...",
// "UserWarning: ...".
bool is_warning(std::string_view line) {
  return line.starts_with("[W") || line.find("Warning:") != std::string_view::npos;
}

bool says_something(std::string_view line) {
  return std::ranges::any_of(
      line, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

// What is printed behind it may only say where that was.
bool names_an_error(std::string_view line) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"rror", "ailed", "FAIL", "annot", "not found", "terminate called", "what():", "ssert"});
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

}  // namespace

std::string last_error_line(const EngineProcess& process) {
  std::string_view text = process.last_errors();
  std::string_view last;
  while (!text.empty()) {
    const std::size_t start = text.rfind('\n') + 1;  // 0 where there is none
    const std::string_view line = text.substr(start);
    text = text.substr(0, start == 0 ? 0 : start - 1);
    if (!says_something(line) || is_warning(line)) continue;
    if (names_an_error(line)) return std::string(line);
    if (last.empty()) last = line;
  }
  return std::string(last);
}

Failure early_end(EngineProcess& process) {
  process.read_errors();
  const std::string ended = end_text(process.wait());
  const std::string said = last_error_line(process);
  return fail(ErrorKind::kExecution, fmt::format("the engine ended with {} before it was ready{}{}",
                                                 ended, said.empty() ? "" : ": ", said));
}

Result<protocol::Hello> read_greeting(const protocol::Frame& frame) {
  if (frame.kind == protocol::FrameKind::kFatal) {
    const Result<protocol::Fatal> fatal = protocol::decode_fatal(frame);
    return fail(ErrorKind::kUsage, fatal ? fatal->message : fatal.error().message);
  }
  Result<protocol::Hello> hello = protocol::decode_hello(frame);
  if (!hello) return hello;
  if (hello->wire_version != protocol::kWireVersion ||
      hello->metrics_bytes != sizeof(measure::Metrics)) {
    return fail(
        ErrorKind::kUsage,
        fmt::format("the engine is from another msprobe (wire version {}, this is {}); build "
                    "both together",
                    hello->wire_version, protocol::kWireVersion));
  }
  return hello;
}

Result<std::optional<ReadyEngine>> greet(EngineProcess process, int interrupt) {
  const Clock::time_point limit = Clock::now() + kGreetingLimit;
  while (Clock::now() < limit) {
    pollfd polled[] = {{interrupt, POLLIN, 0}, {process.output(), POLLIN, 0}};
    if (::poll(polled, std::size(polled), static_cast<int>(kLookAgain.count())) < 0 &&
        errno != EINTR) {
      return fail(ErrorKind::kIo, fmt::format("poll: {}", strerror(errno)));
    }
    process.read_errors();
    if (polled[0].revents != 0) return std::nullopt;
    if (polled[1].revents == 0) continue;
    const Result<bool> more = process.read_some();
    const Result<std::optional<protocol::Frame>> read = process.next_frame();
    if (!read) return propagate(read);
    if (const std::optional<protocol::Frame>& frame = *read) {
      Result<protocol::Hello> hello = read_greeting(*frame);
      if (!hello) return propagate(hello);
      return ReadyEngine{std::move(process), std::move(*hello)};
    }
    if (!more || !*more) return early_end(process);
  }
  return fail(ErrorKind::kExecution, "the engine did not answer");
}

}  // namespace msprobe::engines
