// SPDX-License-Identifier: Apache-2.0
#include "shrink/script_run.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/python_environment.h"
#include "engines/engine_process.h"

namespace msprobe::shrink {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kKept = std::size_t{1} << 20;

// The frame of the function in which the script makes the call.
constexpr std::string_view kInCall = ", in result";

std::string first_line(std::string_view text) {
  while (!text.empty() && text.front() == '\n') text.remove_prefix(1);
  return std::string(text.substr(0, text.find('\n')));
}

// "RuntimeError: ..." of a traceback: the first line behind its frames, which are indented.
std::string exception_of(std::string_view output) {
  const std::size_t begin = output.rfind("Traceback (most recent call last)");
  std::string_view rest = begin == std::string_view::npos ? output : output.substr(begin);
  while (!rest.empty()) {
    const std::string line = first_line(rest);
    const std::size_t end = rest.find('\n');
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const bool frame = line.empty() || line.front() == ' ' || line.starts_with("Traceback");
    if (!frame && line.find(':') != std::string::npos) return line;
  }
  return first_line(output);
}

// Reads to the end of what it writes; false: the time is over.
bool read_all(int descriptor, Clock::time_point until, std::string& output) {
  std::array<char, 4096> buffer;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waited{descriptor, POLLIN, 0};
    if (::poll(&waited, 1, static_cast<int>(left)) == 0) return false;
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    if (output.size() < kKept) output.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

ScriptRun script_run_of(int wait_status, const std::string& output) {
  using End = ScriptRun::End;
  if (WIFSIGNALED(wait_status)) return {End::kDied, engines::end_text(wait_status)};
  switch (WEXITSTATUS(wait_status)) {
    case 0:
      return {End::kAgrees, first_line(output)};
    case 1:
      return {End::kDisagrees, first_line(output)};
    case 2: {
      const bool in_call = output.find(kInCall) != std::string::npos;
      return {in_call ? End::kRaised : End::kCannotRun, exception_of(output)};
    }
    default:
      return {End::kCannotRun, first_line(output)};
  }
}

ScriptRun run_script(const std::filesystem::path& script, double timeout_seconds) {
  using End = ScriptRun::End;
  const std::string python = user_python();
  Result<engines::Pipe> pipe = engines::make_pipe();
  if (!pipe) return {End::kCannotRun, pipe.error().message};
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, pipe->write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, pipe->write.get(), STDERR_FILENO);
  std::vector<std::string> words{python, "-W", "ignore", script.string()};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  PythonEnvironment environment;
  pid_t pid = -1;
  const int failed =
      ::posix_spawnp(&pid, python.c_str(), &files, nullptr, arguments.data(), environment.get());
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return {End::kCannotRun, fmt::format("{}: {}", python, ::strerror(failed))};
  pipe->write.close();
  std::string output;
  const auto limit = std::chrono::duration<double>(timeout_seconds);
  const bool ended = read_all(
      pipe->read.get(), Clock::now() + std::chrono::duration_cast<Clock::duration>(limit), output);
  if (!ended) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!ended) return {End::kHung, fmt::format("no end within {:g} s", timeout_seconds)};
  return script_run_of(status, output);
}

}  // namespace msprobe::shrink
