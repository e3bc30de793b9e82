// SPDX-License-Identifier: Apache-2.0
// One msprobe-engine: the process, its three pipes, and what is on its way to and from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"
#include "protocol/frames.h"

namespace msprobe::engines {

struct EngineCommand {
  std::filesystem::path program;
  std::vector<std::string> arguments;
};

// $MSPROBE_ENGINE or the option where given (`named`), else msprobe-engine beside `program`. An
// error says where it was looked for.
Result<std::filesystem::path> find_engine(const std::optional<std::filesystem::path>& named,
                                          const std::filesystem::path& program);

// How a process ended, for a person: "signal SIGSEGV (Segmentation fault)", "exit status 3".
std::string end_text(int wait_status);

// Whether it was an engine whose device no longer computes; no call that it left is to blame.
bool lost_its_device(int wait_status);

struct Pipe {
  Descriptor read;
  Descriptor write;
};
Result<Pipe> make_pipe();

// The process behind the pipes, wherever it runs. It is killed before it goes out of scope.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual ~Process() = default;

  virtual std::uint64_t resident_bytes() const = 0;
  virtual void kill() = 0;
  // Waits for the end of a process that closed its output or was killed; the wait status.
  virtual int wait() = 0;
};

// Killed when it goes out of scope, and by the kernel when this process dies: no orphans.
class EngineProcess {
 public:
  // On this machine.
  static Result<EngineProcess> start(const EngineCommand& command);
  EngineProcess(std::unique_ptr<Process> process, Descriptor input, Descriptor output,
                Descriptor errors);
  EngineProcess(EngineProcess&& other) noexcept;
  EngineProcess& operator=(EngineProcess&& other) noexcept;
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;
  ~EngineProcess();

  int output() const { return output_.get(); }  // poll for reading: frames
  int errors() const {
    return errors_.get();
  }  // poll for reading: what LibTorch prints; -1: closed
  int input() const { return input_.get(); }  // poll for writing while wants_to_write()
  bool wants_to_write() const { return !outgoing_.empty(); }

  // Queues bytes; they leave as the pipe takes them.
  void send(std::string_view bytes) { outgoing_ += bytes; }
  // Writes what the pipe takes now. A closed pipe is not an error here: output() reports the end.
  void write_some();
  // No more requests: the engine ends once it has answered those it has.
  void close_input();

  // Reads what is there; false at the end of the stream.
  Result<bool> read_some() { return reader_.fill(output_.get()); }
  Result<std::optional<protocol::Frame>> next_frame() { return reader_.next(); }

  // Reads what LibTorch prints; the last few lines are kept.
  void read_errors();
  const std::string& last_errors() const { return last_errors_; }
  // What follows belongs to another call.
  void forget_errors() {
    read_errors();
    last_errors_.clear();
  }

  std::uint64_t resident_bytes() const { return process_ ? process_->resident_bytes() : 0; }

  void kill();
  // As Process::wait(); the process is gone then.
  int wait();

 private:
  std::unique_ptr<Process> process_;  // empty: gone
  Descriptor input_;
  Descriptor output_;
  Descriptor errors_;
  std::string outgoing_;
  protocol::FrameReader reader_{protocol::Sender::kEngine};
  std::string last_errors_;
};

}  // namespace msprobe::engines
