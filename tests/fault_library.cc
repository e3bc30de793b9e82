// SPDX-License-Identifier: Apache-2.0
// Makes the n-th call of one kind fail, in one program, for files below one directory. Loaded with
// LD_PRELOAD by fault_check.py, which says what to do in the environment:
//   FAULT_PROGRAM    name of the program; others that inherit the environment are left alone
//                    (an engine runs beside msprobe; several engines count together)
//   FAULT_DIRECTORY  only files below it count
//   FAULT_CALL       open, read, write, rename, sync, map, truncate, list (a directory), mkdir or
//   stat FAULT_AT         which call, from 1; 0: none FAULT_FOR        how many calls from there on
//   FAULT_ERROR      number of the error; 0: half of the bytes are taken; -N: signal N comes
//   FAULT_COUNT      a file of 8 bytes that takes the number of calls
// Streams of <cstdio> call the system from inside the C library, where nothing can be put between.
// Those of libxlsxwriter are made of read() and write() of this file.
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

struct Plan {
  const char* call = "";
  const char* directory = "";
  std::uint64_t at = 0;
  std::uint64_t count = 0;
  int error = 0;
  std::atomic<std::uint64_t>* calls = nullptr;  // nullptr: not our program
};

std::uint64_t number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);  // of "-9", too
}

Plan make_plan() {
  Plan plan;
  char program[PATH_MAX] = {};
  if (::syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof program - 1) < 0)
    return plan;
  const char* base = std::strrchr(program, '/');
  const char* wanted = std::getenv("FAULT_PROGRAM");
  const char* counted = std::getenv("FAULT_COUNT");
  if (base == nullptr || wanted == nullptr || counted == nullptr ||
      std::strcmp(base + 1, wanted) != 0)
    return plan;
  const auto file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, counted, O_RDWR | O_CLOEXEC));
  const long mapped = ::syscall(SYS_mmap, nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                                MAP_SHARED, file, 0);
  if (file < 0 || mapped == -1) return plan;
  ::syscall(SYS_close, file);
  plan.call = std::getenv("FAULT_CALL");
  plan.directory = std::getenv("FAULT_DIRECTORY");
  plan.at = number("FAULT_AT");
  plan.count = number("FAULT_FOR");
  plan.error = static_cast<int>(number("FAULT_ERROR"));
  plan.calls = reinterpret_cast<std::atomic<std::uint64_t>*>(mapped);
  return plan;
}

const Plan& plan() {
  static const Plan made = make_plan();
  return made;
}

bool is_below(const char* path) {
  const std::size_t length = std::strlen(plan().directory);
  if (path == nullptr) return false;
  if (path[0] != '/') return true;  // the tests run inside the directory
  return std::strncmp(path, plan().directory, length) == 0;
}

bool is_below(int fd) {
  char name[64];
  char path[PATH_MAX] = {};
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const long length = ::syscall(SYS_readlinkat, AT_FDCWD, name, path, sizeof path - 1);
  return length > 0 && path[0] == '/' && is_below(path);
}

// Whether this call is to fail.
template <class File>
bool fails(const char* call, File file) {
  if (plan().calls == nullptr || std::strcmp(plan().call, call) != 0 || !is_below(file))
    return false;
  const std::uint64_t now = ++*plan().calls;
  const bool now_it_fails = plan().at > 0 && now >= plan().at && now - plan().at < plan().count;
  if (now_it_fails && plan().error < 0) {
    ::kill(::getpid(), -plan().error);
    return false;
  }
  return now_it_fails;
}

// The result of a failing call that takes `size` bytes; -2: it goes on with half of them.
long outcome(std::size_t& size) {
  if (plan().error != 0) {
    errno = plan().error;
    return -1;
  }
  size = (size + 1) / 2;
  return -2;
}

template <class Result>
Result failed(Result result) {
  errno = plan().error == 0 ? EIO : plan().error;
  return result;
}

template <class Function>
Function next(Function /*of*/, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

int open_file(int directory, const char* path, int flags, mode_t mode) {
  if (fails("open", path)) return failed(-1);
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}

mode_t mode_in(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

bool called_by_libxlsxwriter(void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "xlsxwriter") != nullptr;
}

int file_of(void* cookie) { return static_cast<int>(reinterpret_cast<std::intptr_t>(cookie)); }

FILE* stream_of(int fd, const char* mode) {
  if (fd < 0) return nullptr;
  const cookie_io_functions_t functions = {
      [](void* cookie, char* to, std::size_t size) { return ::read(file_of(cookie), to, size); },
      [](void* cookie, const char* from, std::size_t size) {  // as the C library: it only loops
        ssize_t done = 0;
        while (done < static_cast<ssize_t>(size)) {
          const ssize_t written =
              ::write(file_of(cookie), from + done, size - static_cast<std::size_t>(done));
          if (written <= 0) break;
          done += written;
        }
        return done;
      },
      [](void* cookie, off64_t* offset, int whence) {
        *offset = ::lseek64(file_of(cookie), *offset, whence);
        return *offset < 0 ? -1 : 0;
      },
      [](void* cookie) { return ::close(file_of(cookie)); }};
  return ::fopencookie(reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), mode, functions);
}

FILE* open_stream(const char* path, const char* mode) {
  const bool both = std::strchr(mode, '+') != nullptr;
  int flags = both ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  if (mode[0] == 'w') flags |= O_CREAT | O_TRUNC;
  return stream_of(open_file(AT_FDCWD, path, flags, 0666), mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return open_file(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return open_file(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return open_file(directory, path, flags, mode);
}

// openat2 has no function of its own. Six arguments are passed on whatever the call takes.
long syscall(long number, ...) {
  long words[6];
  va_list arguments;
  va_start(arguments, number);
  for (long& word : words) word = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_openat2 && fails("open", reinterpret_cast<const char*>(words[1])))
    return failed(-1L);
  static const auto next_one = next(&syscall, "syscall");
  return next_one(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

FILE* fopen(const char* path, const char* mode) {
  if (called_by_libxlsxwriter(__builtin_return_address(0))) return open_stream(path, mode);
  if (fails("open", path)) return failed<FILE*>(nullptr);
  return next(&fopen, "fopen")(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  if (called_by_libxlsxwriter(__builtin_return_address(0))) return open_stream(path, mode);
  if (fails("open", path)) return failed<FILE*>(nullptr);
  return next(&fopen64, "fopen64")(path, mode);
}
FILE* fdopen(int fd, const char* mode) {
  if (called_by_libxlsxwriter(__builtin_return_address(0))) return stream_of(fd, mode);
  return next(&fdopen, "fdopen")(fd, mode);
}

ssize_t read(int fd, void* to, std::size_t size) {
  if (fails("read", fd) && outcome(size) == -1) return -1;
  return ::syscall(SYS_read, fd, to, size);
}
ssize_t pread(int fd, void* to, std::size_t size, off_t offset) {
  if (fails("read", fd) && outcome(size) == -1) return -1;
  return ::syscall(SYS_pread64, fd, to, size, offset);
}
ssize_t pread64(int fd, void* to, std::size_t size, off64_t offset) {
  if (fails("read", fd) && outcome(size) == -1) return -1;
  return ::syscall(SYS_pread64, fd, to, size, offset);
}
ssize_t write(int fd, const void* from, std::size_t size) {
  if (fails("write", fd) && outcome(size) == -1) return -1;
  return ::syscall(SYS_write, fd, from, size);
}
ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) {
  if (fails("write", fd) && outcome(size) == -1) return -1;
  return ::syscall(SYS_pwrite64, fd, from, size, offset);
}
ssize_t pwrite64(int fd, const void* from, std::size_t size, off64_t offset) {
  if (fails("write", fd) && outcome(size) == -1) return -1;
  return ::syscall(SYS_pwrite64, fd, from, size, offset);
}
ssize_t writev(int fd, const iovec* parts, int count) {
  std::size_t first = count > 0 ? parts[0].iov_len : 0;
  if (!fails("write", fd)) return ::syscall(SYS_writev, fd, parts, count);
  if (outcome(first) == -1) return -1;
  return ::syscall(SYS_write, fd, count > 0 ? parts[0].iov_base : nullptr, first);
}
int fsync(int fd) {
  return fails("sync", fd) ? failed(-1) : static_cast<int>(::syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  return fails("sync", fd) ? failed(-1) : static_cast<int>(::syscall(SYS_fdatasync, fd));
}
int ftruncate(int fd, off_t size) {
  return fails("truncate", fd) ? failed(-1) : static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}
int ftruncate64(int fd, off64_t size) {
  return fails("truncate", fd) ? failed(-1) : static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}
int rename(const char* from, const char* to) {
  return fails("rename", from)
             ? failed(-1)
             : static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}
int mkdir(const char* path, mode_t mode) {
  return fails("mkdir", path) ? failed(-1)
                              : static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

DIR* opendir(const char* path) {
  if (fails("list", path)) return failed<DIR*>(nullptr);
  return next(&opendir, "opendir")(path);
}
DIR* fdopendir(int fd) {
  if (fails("list", fd)) return failed<DIR*>(nullptr);
  return next(&fdopendir, "fdopendir")(fd);
}
dirent* readdir(DIR* directory) {
  if (fails("list", ::dirfd(directory))) return failed<dirent*>(nullptr);
  return next(&readdir, "readdir")(directory);
}
dirent64* readdir64(DIR* directory) {
  if (fails("list", ::dirfd(directory))) return failed<dirent64*>(nullptr);
  return next(&readdir64, "readdir64")(directory);
}

// A name that is not there stays so: what fails is the look at a file that exists.
int stat(const char* path, struct stat* status) {
  static const auto next_one = next(&stat, "stat");
  const int result = next_one(path, status);
  return result == 0 && fails("stat", path) ? failed(-1) : result;
}
int lstat(const char* path, struct stat* status) {
  static const auto next_one = next(&lstat, "lstat");
  const int result = next_one(path, status);
  return result == 0 && fails("stat", path) ? failed(-1) : result;
}
int fstat(int fd, struct stat* status) {
  static const auto next_one = next(&fstat, "fstat");
  const int result = next_one(fd, status);
  return result == 0 && fails("stat", fd) ? failed(-1) : result;
}

void* mmap(void* address, std::size_t size, int protection, int flags, int fd, off_t offset) {
  if (fd >= 0 && fails("map", fd)) return failed(MAP_FAILED);
  return reinterpret_cast<void*>(::syscall(SYS_mmap, address, size, protection, flags, fd, offset));
}
void* mmap64(void* address, std::size_t size, int protection, int flags, int fd, off64_t offset) {
  if (fd >= 0 && fails("map", fd)) return failed(MAP_FAILED);
  return reinterpret_cast<void*>(::syscall(SYS_mmap, address, size, protection, flags, fd, offset));
}

}  // extern "C"
