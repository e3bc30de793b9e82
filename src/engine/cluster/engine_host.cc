// SPDX-License-Identifier: Apache-2.0
#include "cluster/engine_host.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "cluster/command_text.h"
#include "cluster/pause.h"
#include "engines/engine_process.h"

namespace msprobe::cluster {
namespace {

using engines::EngineProcess;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMemoryEvery(200);
constexpr int kCannotStart = 127 << 8;  // a wait status: exit status 127

class EngineHost {
 public:
  explicit EngineHost(Transport& transport) : transport_(transport) {}

  void serve(int interrupt) {
    while (take_messages() && wait(interrupt)) {
      read_engines();
      report_memory();
    }
  }

 private:
  // False: host 0 says quit.
  bool take_messages() {
    while (const std::optional<Message> message = transport_.receive()) {
      pause_.busy();
      if (message->kind == MessageKind::kQuit) return false;
      if (message->kind == MessageKind::kStart) {
        start(*message);
      } else if (const auto engine = engines_.find(message->engine); engine != engines_.end()) {
        pass_on(*message, engine->second);
      }
    }
    return true;
  }

  void start(const Message& message) {
    Result<EngineProcess> process = EngineProcess::start(decode_command(message.bytes));
    if (process) {
      engines_.emplace(message.engine, std::move(*process));
      return;
    }
    tell(message.engine, MessageKind::kErrors, process.error().message);
    tell(message.engine, MessageKind::kEnded, std::to_string(kCannotStart));
  }

  static void pass_on(const Message& message, EngineProcess& process) {
    if (message.kind == MessageKind::kInput) process.send(message.bytes);
    if (message.kind == MessageKind::kCloseInput) process.close_input();
    if (message.kind == MessageKind::kKill) process.kill();
  }

  // False: interrupted.
  bool wait(int interrupt) {
    polled_.assign(1, {interrupt, POLLIN, 0});
    for (auto& [id, process] : engines_) {
      process.write_some();
      polled_.push_back({process.output(), POLLIN, 0});
      polled_.push_back({process.wants_to_write() ? process.input() : -1, POLLOUT, 0});
    }
    const timespec length = pause_.length();
    ::ppoll(polled_.data(), polled_.size(), &length, nullptr);
    return polled_.front().revents == 0;
  }

  void read_engines() {
    std::size_t at = 1;
    for (auto next = engines_.begin(); next != engines_.end(); at += 2) {
      const auto engine = next++;
      if (polled_[at].revents == 0) continue;
      pause_.busy();
      const ssize_t got = ::read(engine->second.output(), piece_.data(), piece_.size());
      if (got > 0) {
        tell(engine->first, MessageKind::kOutput, {piece_.data(), static_cast<std::size_t>(got)});
      } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        end(engine->first, engine->second);
        engines_.erase(engine);
      }
    }
  }

  void end(std::uint64_t id, EngineProcess& process) {
    process.read_errors();
    tell(id, MessageKind::kErrors, process.last_errors());
    tell(id, MessageKind::kEnded, std::to_string(process.wait()));
  }

  void report_memory() {
    if (Clock::now() - memory_told_ < kMemoryEvery) return;
    memory_told_ = Clock::now();
    for (auto& [id, process] : engines_) {
      process.read_errors();  // kept until it ends; a full pipe would stop the engine
      tell(id, MessageKind::kMemory, std::to_string(process.resident_bytes()));
    }
  }

  void tell(std::uint64_t engine, MessageKind kind, std::string bytes) {
    transport_.send({.host = 0, .engine = engine, .kind = kind, .bytes = std::move(bytes)});
  }

  Transport& transport_;
  std::map<std::uint64_t, EngineProcess> engines_;
  std::vector<pollfd> polled_;
  std::array<char, kPieceBytes> piece_{};
  Clock::time_point memory_told_ = Clock::now();
  Pause pause_;
};

}  // namespace

void serve_engines(Transport& transport, int interrupt) { EngineHost(transport).serve(interrupt); }

}  // namespace msprobe::cluster
