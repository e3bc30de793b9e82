// SPDX-License-Identifier: Apache-2.0
// The process that runs MindSpore: started in the user's Python, spoken to over a socket, tensors
// in memory that both see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "core/descriptor.h"
#include "core/result.h"

namespace msprobe::mindspore {

struct ProcessOptions {
  std::string python;   // a program; looked up in PATH
  std::string program;  // Python text that is run
  std::string device_id = "0";
};

// Killed when it goes out of scope, and by the kernel when this process dies: no orphans.
class RunnerProcess {
 public:
  static Result<RunnerProcess> start(const ProcessOptions& options);
  RunnerProcess(RunnerProcess&& other) noexcept;
  RunnerProcess& operator=(RunnerProcess&& other) noexcept;
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;
  ~RunnerProcess();

  Result<void> send(std::string_view message);
  // The next message; an error if the process ended, which says how.
  Result<std::string> receive();

  // The shared memory, of at least `size` bytes. What was returned before is not valid any more.
  Result<std::span<std::byte>> memory(std::size_t size);
  // As large as the other side made it.
  Result<std::span<std::byte>> memory();

 private:
  RunnerProcess() = default;
  Result<void> read_all(char* to, std::size_t count);
  Failure ended();
  void end();

  pid_t pid_ = -1;
  Descriptor socket_;
  Descriptor file_;
  std::span<std::byte> mapped_;
};

}  // namespace msprobe::mindspore
