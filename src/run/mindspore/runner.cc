// SPDX-License-Identifier: Apache-2.0
#include "mindspore/runner.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include <fmt/format.h>

#include "core/python_environment.h"
#include "mindspore/program.h"

namespace msprobe::mindspore {
namespace {

using Clock = std::chrono::steady_clock;

// Runs after kCleanPythonPath.
constexpr std::string_view kLook =
    "import importlib.util, socket\n"
    "found = importlib.util.find_spec('mindspore') is not None\n"
    "socket.socket(fileno=int(sys.argv[1])).sendall(bytes([1, 0, 0, 0, 49 if found else 48]))\n";

std::uint64_t thread_cpu_nanos() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::string python_of(const RunnerOptions& options) {
  if (!options.python.empty()) return options.python;
  const char* named = std::getenv(kPythonVariable);
  return named != nullptr && *named != '\0' ? named : "python3";
}

Failure unusable(const std::string& python, std::string_view why) {
  return fail(ErrorKind::kUsage,
              fmt::format("device mindspore: {} cannot run MindSpore ({}); install it there (pip "
                          "install mindspore \"numpy<2\"), or name the Python that has it: {}=PATH",
                          python, why, kPythonVariable));
}

}  // namespace

Result<std::unique_ptr<Runner>> Runner::start(const RunnerOptions& options) {
  std::unique_ptr<Runner> runner(new Runner(options));
  if (Result<void> started = runner->start_process(); !started) return propagate(started);
  return runner;
}

Result<void> Runner::start_process() {
  const std::string python = python_of(options_);
  Result<RunnerProcess> process =
      RunnerProcess::start({python, std::string(kProgram), options_.device_id});
  if (!process) return propagate(process);
  const Result<std::string> message = process->receive();
  if (!message) return unusable(python, message.error().message);
  Result<Greeting> greeting = read_greeting(*message);
  if (!greeting) return unusable(python, greeting.error().message);
  if (!greeting->error.empty()) return unusable(greeting->python, greeting->error);
  greeting_ = *std::move(greeting);
  process_ = *std::move(process);
  return {};
}

std::unexpected<Skip> Runner::lost(const Error& error) {
  process_.reset();
  return skip(SkipReason::kCrashed,
              fmt::format("the process that runs MindSpore ended: {}", error.message));
}

template <class MakeMessage>
OrSkip<PyValue> Runner::exchange(std::size_t bytes, const MakeMessage& make_message) {
  const Clock::time_point begin = Clock::now();
  const std::uint64_t cpu_begin = thread_cpu_nanos();
  const Result<std::span<std::byte>> memory = process_->memory(bytes);
  if (!memory) return skip(SkipReason::kOutOfMemory, memory.error().message);
  if (Result<void> sent = process_->send(make_message(*memory)); !sent) return lost(sent.error());
  const Result<std::string> message = process_->receive();
  if (!message) return lost(message.error());
  const Result<std::span<std::byte>> filled = process_->memory();
  if (!filled) return skip(SkipReason::kOutOfMemory, filled.error().message);
  Result<Reply> reply = read_reply(*message, *filled);
  if (!reply) return lost(reply.error());
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
  ++times_.messages;
  times_.own_nanos += reply->own_nanos;
  times_.total_nanos += static_cast<std::uint64_t>(took.count());
  times_.cpu_nanos += reply->cpu_nanos + (thread_cpu_nanos() - cpu_begin);
  if (!reply->error.empty()) return skip(SkipReason::kDeviceFailed, reply->error);
  return std::move(reply->result);
}

OrSkip<PyValue> Runner::forward(std::string_view api, const PyCall& call) {
  if (!process_) {
    if (Result<void> started = start_process(); !started) {
      return skip(SkipReason::kCrashed, started.error().message);
    }
  }
  return exchange(bytes_of(call),
                  [&](std::span<std::byte> memory) { return call_message(api, call, memory); });
}

OrSkip<PyList> Runner::backward(const PyList& arriving) {
  if (!process_) return skip(SkipReason::kCrashed, "the process that runs MindSpore ended");
  OrSkip<PyValue> result = exchange(bytes_of(arriving), [&](std::span<std::byte> memory) {
    return gradients_message(arriving, memory);
  });
  if (!result) return std::unexpected(result.error());
  auto* gradients = std::get_if<PyList>(&result->data);
  if (gradients == nullptr) {
    return skip(SkipReason::kDeviceFailed, "the runner sent no list of gradients");
  }
  return std::move(*gradients);
}

std::string text(const Times& times) {
  const auto each = [&](std::uint64_t nanos) {
    return static_cast<double>(nanos) / 1e6 /
           static_cast<double>(std::max<std::uint64_t>(times.messages, 1));
  };
  return fmt::format(
      "{} calls and gradients: {:.2f} ms each beside MindSpore's own {:.2f} ms ({:.2f} ms of "
      "processor time)",
      times.messages, each(times.total_nanos - times.own_nanos), each(times.own_nanos),
      each(times.cpu_nanos));
}

bool is_installed(const RunnerOptions& options) {
  Result<RunnerProcess> process = RunnerProcess::start(
      {python_of(options), kCleanPythonPath + std::string(kLook), options.device_id});
  if (!process) return false;
  const Result<std::string> found = process->receive();
  return found && *found == "1";
}

}  // namespace msprobe::mindspore
