// SPDX-License-Identifier: Apache-2.0
#include "core/new_file.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFileMode = 0640;
constexpr mode_t kDirectoryMode = 0750;

Failure cannot(const fs::path& path, std::string_view doing) {
  return fail(ErrorKind::kIo,
              fmt::format("{}: cannot {}: {}", path.string(), doing, std::strerror(errno)));
}

int access_flag(Reading reading) { return reading == Reading::kYes ? O_RDWR : O_WRONLY; }

int open_again(const fs::path& path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, kFileMode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// Only here are files created.
Descriptor create_exclusively(const fs::path& path, int flags) {
  Descriptor file(open_again(path, flags | O_CREAT | O_EXCL));
  // A file system without modes has none to set.
  if (file) static_cast<void>(::fchmod(file.get(), kFileMode));
  return file;
}

// Removing a name never follows a link.
Descriptor create_instead(const fs::path& path, int flags) {
  Descriptor file = create_exclusively(path, flags);
  if (file || errno != EEXIST) return file;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return {};
  return create_exclusively(path, flags);
}

// A handler of signals may look at these at any time: nothing here is ever freed.
struct Unfinished {
  std::atomic<bool> used = false;
  std::atomic<bool> there = false;
  char path[PATH_MAX] = {};
};
std::array<Unfinished, 64> unfinished_files;  // NOLINT(*-avoid-non-const-global-variables)

// -1: there are too many, or the path is too long; its file stays if a signal ends the program.
int list_unfinished(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < unfinished_files.size(); ++i) {
    Unfinished& place = unfinished_files[i];
    if (place.used.exchange(true)) continue;
    path.copy(place.path, path.size());
    place.path[path.size()] = '\0';
    place.there = true;
    return static_cast<int>(i);
  }
  return -1;
}

// Nothing: a look at one of them failed, or nothing has that name.
std::optional<bool> is_same_file(int descriptor, const fs::path& path) {
  struct stat open_file{};
  struct stat named{};
  if (::fstat(descriptor, &open_file) != 0 || ::lstat(path.c_str(), &named) != 0) return {};
  return open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

}  // namespace

Result<NewFile> NewFile::create(const fs::path& path) {
  NewFile file(path, {});
  file.fd_ = create_instead(file.partial(), O_WRONLY);
  if (!file.fd_ && errno == ENOENT) {
    return fail(ErrorKind::kIo, fmt::format("{}: cannot be written: there is no directory {}",
                                            path.string(), path.parent_path().string()));
  }
  if (!file.fd_) return cannot(file.partial(), "create");
  file.listed_ = list_unfinished(file.partial());
  return file;
}

Result<std::optional<NewFile>> NewFile::create_if_free(const fs::path& path) {
  NewFile file(path, {});
  file.fd_ = create_exclusively(file.partial(), O_WRONLY);
  if (!file.fd_ && errno == EEXIST) return std::nullopt;
  if (!file.fd_) return cannot(file.partial(), "create");
  file.listed_ = list_unfinished(file.partial());
  // Now it is ours alone, unless another run has finished meanwhile.
  struct stat named{};
  if (::lstat(path.c_str(), &named) == 0) return std::nullopt;
  return file;
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      listed_(std::exchange(other.listed_, -1)) {}

NewFile& NewFile::operator=(NewFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    fd_ = std::move(other.fd_);
    listed_ = std::exchange(other.listed_, -1);
  }
  return *this;
}

NewFile::~NewFile() { discard(); }

fs::path NewFile::partial() const { return path_.string() + ".partial"; }

void NewFile::forget() {
  if (listed_ < 0) return;
  Unfinished& place = unfinished_files[static_cast<std::size_t>(listed_)];
  place.there = false;
  place.used = false;
  listed_ = -1;
}

void remove_unfinished_files() noexcept {
  for (const Unfinished& file : unfinished_files) {
    if (file.there) ::unlink(static_cast<const char*>(file.path));
  }
}

// Of two programs that write one file the second has taken the name of the first.
void NewFile::discard() {
  if (!fd_) return;
  if (is_same_file(fd_.get(), partial()).value_or(true)) ::unlink(partial().c_str());
  fd_.close();
  forget();
}

std::string NewFile::descriptor_path() const { return fmt::format("/proc/self/fd/{}", fd_.get()); }

Result<void> NewFile::write(std::string_view bytes) const {
  if (write_fully(fd_.get(), bytes)) return {};
  return cannot(partial(), "write");
}

Result<void> NewFile::sync() const {
  if (sync_fully(fd_.get())) return {};
  return cannot(partial(), "sync");
}

Result<void> NewFile::commit() {
  if (!is_same_file(fd_.get(), partial()).value_or(false)) {
    return fail(ErrorKind::kIo,
                fmt::format("{}: it was removed or replaced while it was written; does another "
                            "program write {}?",
                            partial().string(), path_.string()));
  }
  const auto failed = [&](const fs::path& shown, std::string_view doing) {
    const Failure failure = cannot(shown, doing);
    ::unlink(partial().c_str());
    forget();
    return failure;
  };
  if (!fd_.close()) return failed(partial(), "write");
  if (::rename(partial().c_str(), path_.c_str()) != 0) return failed(path_, "rename to it");
  forget();
  return {};
}

Result<void> write_new_file(const fs::path& path, std::string_view bytes) {
  Result<NewFile> file = NewFile::create(path);
  if (!file) return propagate(file);
  if (const Result<void> written = file->write(bytes); !written) return written;
  return file->commit();
}

Result<void> write_durable_file(const fs::path& path, std::string_view bytes) {
  Result<NewFile> file = NewFile::create(path);
  if (!file) return propagate(file);
  if (const Result<void> written = file->write(bytes); !written) return written;
  if (const Result<void> synced = file->sync(); !synced) return synced;
  if (const Result<void> done = file->commit(); !done) return done;
  const fs::path parent = path.has_parent_path() ? path.parent_path() : ".";
  const Descriptor directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory && sync_fully(directory.get())) return {};
  return cannot(parent, "sync");
}

Result<void> copy_to_new_file(const fs::path& from, const fs::path& to) {
  const Result<FileBytes> file = load_file(from);
  if (!file) return propagate(file);
  return write_new_file(to, file->text());
}

Descriptor create_in_place(const fs::path& path, Reading reading) {
  return create_exclusively(path, access_flag(reading) | O_APPEND);
}

Descriptor replace_in_place(const fs::path& path, Reading reading) {
  return create_instead(path, access_flag(reading));
}

Descriptor reopen_in_place(const fs::path& path, Reading reading, Writing writing) {
  return Descriptor(
      open_again(path, access_flag(reading) | (writing == Writing::kAppends ? O_APPEND : 0)));
}

bool write_fully(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool sync_fully(int descriptor) {
  while (::fsync(descriptor) != 0) {
    if (errno == EINTR) continue;
    return errno == EINVAL;
  }
  return true;
}

Result<void> make_directories(const fs::path& path) {
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error)) return {};
  if (path.has_parent_path() && path.parent_path() != path) {
    if (const Result<void> made = make_directories(path.parent_path()); !made) return made;
  }
  if (::mkdir(path.c_str(), kDirectoryMode) != 0) {
    const int reason = errno;
    // Another process made it, or it is "a/." of a directory that was just made.
    if (fs::is_directory(path, error)) return {};
    errno = reason == EEXIST ? ENOTDIR : reason;
    return cannot(path, "create the directory");
  }
  const Descriptor directory(open_again(path, O_RDONLY | O_DIRECTORY));
  if (directory) static_cast<void>(::fchmod(directory.get(), kDirectoryMode));
  return {};
}

}  // namespace msprobe
