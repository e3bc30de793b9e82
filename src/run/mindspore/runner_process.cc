// SPDX-License-Identifier: Apache-2.0
#include "mindspore/runner_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/python_environment.h"

namespace msprobe::mindspore {
namespace {

constexpr int kExecFailed = 127;
constexpr std::size_t kMaxMessage = std::size_t{1} << 28;
constexpr std::size_t kLeastMemory = std::size_t{1} << 20;
constexpr std::chrono::seconds kLongestEnd(10);

Failure failed(std::string_view doing) {
  return fail(ErrorKind::kIo, fmt::format("{}: {}", doing, std::strerror(errno)));
}

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char* const* arguments, char* const* environment, int socket, int memory,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExecFailed);
  for (const int inherited : {socket, memory}) ::fcntl(inherited, F_SETFD, 0);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // our own output is for frames
  ::execvpe(arguments[0], arguments, environment);
  ::_exit(kExecFailed);
}

std::string end_of(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", ::strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) == kExecFailed) return "it cannot be started";
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace

Result<RunnerProcess> RunnerProcess::start(const ProcessOptions& options) {
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return failed("socketpair");
  RunnerProcess process;
  process.socket_ = Descriptor(pair[0]);
  const Descriptor theirs(pair[1]);
  process.file_ = Descriptor(::memfd_create("msprobe-runner", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!process.file_) return failed("memfd_create");
  // Reading behind a new end would end this process.
  if (::fcntl(process.file_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) return failed("fcntl");
  std::array<std::string, 6> texts = {options.python,
                                      "-c",
                                      options.program,
                                      std::to_string(theirs.get()),
                                      std::to_string(process.file_.get()),
                                      options.device_id};
  std::array<char*, 7> arguments = {};
  std::ranges::transform(texts, arguments.begin(), [](std::string& text) { return text.data(); });
  PythonEnvironment environment;
  const pid_t parent = ::getpid();
  process.pid_ = ::fork();
  if (process.pid_ < 0) return failed("fork");
  if (process.pid_ == 0)
    become(arguments.data(), environment.get(), theirs.get(), process.file_.get(), parent);
  return process;
}

RunnerProcess::RunnerProcess(RunnerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      file_(std::move(other.file_)),
      mapped_(std::exchange(other.mapped_, {})) {}

RunnerProcess& RunnerProcess::operator=(RunnerProcess&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = std::exchange(other.pid_, -1);
    socket_ = std::move(other.socket_);
    file_ = std::move(other.file_);
    mapped_ = std::exchange(other.mapped_, {});
  }
  return *this;
}

RunnerProcess::~RunnerProcess() { end(); }

void RunnerProcess::end() {
  if (!mapped_.empty()) ::munmap(mapped_.data(), mapped_.size());
  mapped_ = {};
  socket_.close();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
}

// It closed its socket, so it ends now, if it has not yet; it is not waited for longer than that
// takes.
Failure RunnerProcess::ended() {
  socket_.close();
  int status = 0;
  if (pid_ <= 0) return fail(ErrorKind::kIo, "the process ended before");
  const auto patience = std::chrono::steady_clock::now() + kLongestEnd;
  while (true) {
    const bool late = std::chrono::steady_clock::now() > patience;
    if (late) ::kill(pid_, SIGKILL);
    const pid_t found = ::waitpid(pid_, &status, late ? 0 : WNOHANG);
    if (found == pid_ || (found < 0 && errno != EINTR)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = -1;
  return fail(ErrorKind::kIo, end_of(status));
}

Result<void> RunnerProcess::send(std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes += message;
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count =
        ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ended();
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

Result<void> RunnerProcess::read_all(char* to, std::size_t count) {
  while (count > 0) {
    const ssize_t got = ::recv(socket_.get(), to, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ended();
    to += got;
    count -= static_cast<std::size_t>(got);
  }
  return {};
}

Result<std::string> RunnerProcess::receive() {
  std::uint32_t size = 0;
  if (Result<void> read = read_all(reinterpret_cast<char*>(&size), sizeof(size)); !read) {
    return propagate(read);
  }
  if (size > kMaxMessage) return fail(ErrorKind::kIo, "a message of an impossible length");
  std::string message(size, '\0');
  if (Result<void> read = read_all(message.data(), size); !read) return propagate(read);
  return message;
}

Result<std::span<std::byte>> RunnerProcess::memory() {
  struct stat found = {};
  if (::fstat(file_.get(), &found) != 0) return failed("fstat");
  const auto size = static_cast<std::size_t>(found.st_size);
  if (size == mapped_.size()) return mapped_;
  if (!mapped_.empty()) ::munmap(mapped_.data(), mapped_.size());
  mapped_ = {};
  void* start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (start == MAP_FAILED) return failed("mmap");
  mapped_ = {static_cast<std::byte*>(start), size};
  return mapped_;
}

Result<std::span<std::byte>> RunnerProcess::memory(std::size_t size) {
  if (mapped_.size() < size) {
    const std::size_t grown = std::max({size, 2 * mapped_.size(), kLeastMemory});
    if (::ftruncate(file_.get(), static_cast<off_t>(grown)) != 0) return failed("ftruncate");
  }
  return memory();
}

}  // namespace msprobe::mindspore
