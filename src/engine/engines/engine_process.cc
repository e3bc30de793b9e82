// SPDX-License-Identifier: Apache-2.0
#include "engines/engine_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/python_environment.h"

namespace msprobe::engines {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEngineName = "msprobe-engine";
constexpr std::size_t kKeptErrors = 4096;
constexpr int kExecFailed = 127;
constexpr int kEndTurns = 3000;
constexpr std::chrono::milliseconds kEndTurn(1);

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become_engine(char* const* arguments, char* const* environment, int input,
                                int output, int errors, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExecFailed);  // the parent died before prctl
  ::setpgid(0, 0);  // Ctrl-C in the terminal is for msprobe, which ends its engines itself
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::execve(arguments[0], arguments, environment);
  ::_exit(kExecFailed);
}

class LocalProcess : public Process {
 public:
  explicit LocalProcess(pid_t pid) : pid_(pid) {}
  // Leaves no zombie.
  ~LocalProcess() override {
    if (pid_ > 0) LocalProcess::wait();
  }

  std::uint64_t resident_bytes() const override {
    std::ifstream file(fmt::format("/proc/{}/statm", pid_));
    std::uint64_t total_pages = 0;
    std::uint64_t resident_pages = 0;
    file >> total_pages >> resident_pages;
    return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }

  void kill() override { ::kill(pid_, SIGKILL); }

  // An engine that closed its output is about to end; one that does not is made to.
  int wait() override {
    int status = 0;
    for (int turn = 0; turn < kEndTurns; ++turn) {
      if (::waitpid(pid_, &status, WNOHANG) != 0) {
        pid_ = -1;
        return status;
      }
      std::this_thread::sleep_for(kEndTurn);
    }
    LocalProcess::kill();
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;  // -1: gone
};

}  // namespace

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorKind::kIo, fmt::format("cannot make a pipe: {}", strerror(errno)));
  }
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

Result<fs::path> find_engine(const std::optional<fs::path>& named, const fs::path& program) {
  const fs::path beside = program.parent_path() / kEngineName;
  const fs::path installed =
      program.parent_path().parent_path() / "libexec" / "msprobe" / kEngineName;
  const std::vector<fs::path> places =
      named ? std::vector<fs::path>{*named} : std::vector<fs::path>{beside, installed};
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place, error) && ::access(place.c_str(), X_OK) == 0) return place;
  }
  return fail(
      ErrorKind::kUsage,
      fmt::format("no engine at {}: acc_check needs msprobe-engine, which is built if PyTorch "
                  "is found; name one with --engine or MSPROBE_ENGINE",
                  places.front().string()));
}

// Names the signals that end a process; glibc before 2.32 has no function for that.
std::string signal_name(int number) {
  switch (number) {
#define MSPROBE_SIGNAL(name) \
  case name:                 \
    return #name
    MSPROBE_SIGNAL(SIGABRT);
    MSPROBE_SIGNAL(SIGALRM);
    MSPROBE_SIGNAL(SIGBUS);
    MSPROBE_SIGNAL(SIGFPE);
    MSPROBE_SIGNAL(SIGHUP);
    MSPROBE_SIGNAL(SIGILL);
    MSPROBE_SIGNAL(SIGINT);
    MSPROBE_SIGNAL(SIGKILL);
    MSPROBE_SIGNAL(SIGPIPE);
    MSPROBE_SIGNAL(SIGQUIT);
    MSPROBE_SIGNAL(SIGSEGV);
    MSPROBE_SIGNAL(SIGSYS);
    MSPROBE_SIGNAL(SIGTERM);
    MSPROBE_SIGNAL(SIGTRAP);
    MSPROBE_SIGNAL(SIGUSR1);
    MSPROBE_SIGNAL(SIGUSR2);
    MSPROBE_SIGNAL(SIGXCPU);
    MSPROBE_SIGNAL(SIGXFSZ);
#undef MSPROBE_SIGNAL
    default:
      return fmt::format("SIG{}", number);
  }
}

std::string end_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    return fmt::format("signal {} ({})", signal_name(number), ::strsignal(number));
  }
  return fmt::format("exit status {}", WEXITSTATUS(wait_status));
}

bool lost_its_device(int wait_status) {
  return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == protocol::kDeviceGone;
}

Result<EngineProcess> EngineProcess::start(const EngineCommand& command) {
  std::vector<std::string> words{command.program.string()};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<Pipe, 3> pipes;
  for (Pipe& pipe : pipes) {
    Result<Pipe> made = make_pipe();
    if (!made) return propagate(made);
    pipe = std::move(*made);
  }
  auto& [input, output, errors] = pipes;
  PythonEnvironment environment;  // of a package the engine is a script that picks one
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become_engine(arguments.data(), environment.get(), input.read.get(), output.write.get(),
                  errors.write.get(), parent);
  }
  if (pid < 0) {
    return fail(ErrorKind::kIo,
                fmt::format("cannot start {}: {}", command.program.string(), strerror(errno)));
  }
  return EngineProcess(std::make_unique<LocalProcess>(pid), std::move(input.write),
                       std::move(output.read), std::move(errors.read));
}

EngineProcess::EngineProcess(std::unique_ptr<Process> process, Descriptor input, Descriptor output,
                             Descriptor errors)
    : process_(std::move(process)),
      input_(std::move(input)),
      output_(std::move(output)),
      errors_(std::move(errors)) {
  ::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
}

EngineProcess::EngineProcess(EngineProcess&& other) noexcept = default;

EngineProcess& EngineProcess::operator=(EngineProcess&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(input_, other.input_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  std::swap(outgoing_, other.outgoing_);
  std::swap(reader_, other.reader_);
  std::swap(last_errors_, other.last_errors_);
  return *this;
}

EngineProcess::~EngineProcess() {
  if (process_) kill();
}

void EngineProcess::write_some() {
  while (!outgoing_.empty() && input_) {
    const ssize_t written = ::write(input_.get(), outgoing_.data(), outgoing_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) {
      outgoing_.clear();
      return;
    }
    outgoing_.erase(0, static_cast<std::size_t>(written));
  }
}

void EngineProcess::close_input() {
  input_.close();
  outgoing_.clear();
}

void EngineProcess::read_errors() {
  std::array<char, 4096> piece;
  while (errors_) {
    const ssize_t got = ::read(errors_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      errors_.close();
      return;
    }
    last_errors_.append(piece.data(), static_cast<std::size_t>(got));
    if (last_errors_.size() > kKeptErrors) {
      last_errors_.erase(0, last_errors_.size() - kKeptErrors);
    }
  }
}

void EngineProcess::kill() {
  if (process_) process_->kill();
}

int EngineProcess::wait() {
  const int status = process_ ? process_->wait() : 0;
  process_.reset();
  return status;
}

}  // namespace msprobe::engines
