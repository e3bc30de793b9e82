// SPDX-License-Identifier: Apache-2.0
#include "cluster/remote_engines.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cluster/command_text.h"

namespace msprobe::cluster {
namespace {

using engines::EngineCommand;
using engines::EngineProcess;

// An engine that was killed far away is taken for dead when nothing is heard of it.
constexpr std::chrono::seconds kEndLimit(10);

template <class Number>
Number number_in(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void close_if_gone(Descriptor& pipe, ssize_t done) {
  if (done < 0 && errno != EAGAIN && errno != EINTR) pipe.close();
}

}  // namespace

class RemoteState {
 public:
  void set_resident(std::uint64_t bytes) { resident_ = bytes; }
  std::uint64_t resident() const { return resident_; }

  void set_ended(int status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    changed_.notify_all();
  }
  int wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kEndLimit, [&] { return status_.has_value(); });
    return status_.value_or(SIGKILL);
  }

 private:
  std::atomic<std::uint64_t> resident_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<int> status_;
};

namespace {

class RemoteProcess : public engines::Process {
 public:
  RemoteProcess(RemoteEngines& engines, std::size_t host, std::uint64_t id,
                std::shared_ptr<RemoteState> state)
      : engines_(engines), host_(host), id_(id), state_(std::move(state)) {}

  std::uint64_t resident_bytes() const override { return state_->resident(); }
  void kill() override {
    engines_.post({.host = host_, .engine = id_, .kind = MessageKind::kKill, .bytes = {}});
  }
  int wait() override { return state_->wait(); }

 private:
  RemoteEngines& engines_;
  std::size_t host_;
  std::uint64_t id_;
  std::shared_ptr<RemoteState> state_;
};

}  // namespace

Result<std::unique_ptr<RemoteEngines>> RemoteEngines::create(Transport& transport,
                                                             std::size_t count) {
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail(ErrorKind::kIo, fmt::format("eventfd: {}", strerror(errno)));
  return std::unique_ptr<RemoteEngines>(new RemoteEngines(transport, count, std::move(wake)));
}

RemoteEngines::~RemoteEngines() = default;

Result<EngineProcess> RemoteEngines::start(std::size_t host, const EngineCommand& command) {
  if (host == 0) return EngineProcess::start(command);
  std::array<engines::Pipe, 3> pipes;
  for (engines::Pipe& pipe : pipes) {
    Result<engines::Pipe> made = engines::make_pipe();
    if (!made) return propagate(made);
    pipe = std::move(*made);
  }
  auto& [input, output, errors] = pipes;
  for (const Descriptor* end : {&input.read, &output.write, &errors.write}) {
    ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
  }
  auto state = std::make_shared<RemoteState>();
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_engine_++;
    new_lines_.emplace(id, Line{host, state, std::move(input.read), std::move(output.write),
                                std::move(errors.write)});
  }
  post({.host = host, .engine = id, .kind = MessageKind::kStart, .bytes = encode_command(command)});
  return EngineProcess(std::make_unique<RemoteProcess>(*this, host, id, std::move(state)),
                       std::move(input.write), std::move(output.read), std::move(errors.read));
}

void RemoteEngines::post(Message message) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(message));
  }
  wake();
}

void RemoteEngines::stop() {
  stopped_ = true;
  wake();
}

void RemoteEngines::wake() const { ::eventfd_write(wake_.get(), 1); }

void RemoteEngines::carry() {
  while (!stopped_) {
    send_posted();
    take_messages();
    drop_ended();
    wait_for_input();
  }
  for (std::size_t host = 1; host < count_; ++host) {
    transport_.send({.host = host, .engine = 0, .kind = MessageKind::kQuit, .bytes = {}});
  }
}

// Input that was written before a kill or a close leaves before it.
void RemoteEngines::send_posted() {
  std::deque<Message> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
    lines_.merge(new_lines_);
  }
  for (const Message& message : posted) {
    pause_.busy();
    transport_.send(message);
  }
}

void RemoteEngines::take_messages() {
  while (const std::optional<Message> message = transport_.receive()) {
    pause_.busy();
    const auto line = lines_.find(message->engine);
    const bool is_theirs = line != lines_.end() && line->second.host == message->host;
    if (is_theirs) take(*message, line->second);
  }
}

void RemoteEngines::take(const Message& message, Line& line) {
  switch (message.kind) {
    case MessageKind::kOutput:
      if (!line.output) break;  // nobody reads it any more
      line.output_waiting += message.bytes;
      write_output(line);
      break;
    case MessageKind::kErrors:
      // The last few lines are what matters; a pipe holds far more than those.
      std::ignore = ::write(line.errors.get(), message.bytes.data(), message.bytes.size());
      break;
    case MessageKind::kMemory:
      line.state->set_resident(number_in<std::uint64_t>(message.bytes));
      break;
    case MessageKind::kEnded:
      line.ended = number_in<int>(message.bytes);
      break;
    default:
      break;
  }
}

void RemoteEngines::write_output(Line& line) {
  while (!line.output_waiting.empty() && line.output) {
    const ssize_t written =
        ::write(line.output.get(), line.output_waiting.data(), line.output_waiting.size());
    close_if_gone(line.output, written);
    if (!line.output) line.output_waiting = {};
    if (written <= 0) return;
    line.output_waiting.erase(0, static_cast<std::size_t>(written));
  }
}

void RemoteEngines::wait_for_input() {
  polled_.assign(1, {wake_.get(), POLLIN, 0});
  for (const auto& [id, line] : lines_) {
    polled_.push_back({line.input ? line.input.get() : -1, POLLIN, 0});
    polled_.push_back(
        {line.output && !line.output_waiting.empty() ? line.output.get() : -1, POLLOUT, 0});
  }
  const timespec length = pause_.length();
  ::ppoll(polled_.data(), polled_.size(), &length, nullptr);
  eventfd_t posted = 0;
  if (polled_.front().revents != 0) ::eventfd_read(wake_.get(), &posted);
  std::size_t at = 1;
  for (auto& [id, line] : lines_) {
    if (polled_[at].revents != 0) read_input(id, line);
    if (polled_[at + 1].revents != 0) write_output(line);
    at += 2;
  }
}

void RemoteEngines::read_input(std::uint64_t id, Line& line) {
  std::string piece(kPieceBytes, '\0');
  const ssize_t got = ::read(line.input.get(), piece.data(), piece.size());
  pause_.busy();
  if (got > 0) {
    piece.resize(static_cast<std::size_t>(got));
    transport_.send(
        {.host = line.host, .engine = id, .kind = MessageKind::kInput, .bytes = std::move(piece)});
  } else if (got == 0) {
    line.input.close();
    transport_.send(
        {.host = line.host, .engine = id, .kind = MessageKind::kCloseInput, .bytes = {}});
  }
}

// The status is reported when the check can read all that the engine wrote.
void RemoteEngines::drop_ended() {
  std::erase_if(lines_, [](const auto& item) {
    const Line& line = item.second;
    if (!line.ended || (line.output && !line.output_waiting.empty())) return false;
    line.state->set_ended(*line.ended);
    return true;
  });
}

}  // namespace msprobe::cluster
