// SPDX-License-Identifier: Apache-2.0
#include "core/file_start.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/descriptor.h"

namespace msprobe {

Result<std::string> load_start(const std::filesystem::path& path, std::size_t count) {
  const auto cannot = [&](std::string_view doing) {
    return fail(ErrorKind::kIo,
                fmt::format("{}: cannot {}: {}", path.string(), doing, std::strerror(errno)));
  };
  // A pipe would wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return cannot("open");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return cannot("stat");
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::kIo, fmt::format("{}: not a regular file", path.string()));
  }
  std::string start(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = ::read(file.get(), start.data() + done, count - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot("read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  start.resize(done);
  return start;
}

}  // namespace msprobe
