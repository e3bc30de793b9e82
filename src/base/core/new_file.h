// SPDX-License-Identifier: Apache-2.0
// How this program makes files and directories: all of them come from here (tools/check_writers.py
// finds the others). Whatever the umask, a file has mode 0640 and a directory 0750: others cannot
// read data of a training job. No link is followed in the last step of a path, because anybody may
// have put it there, and it may lead to a file that is not ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace msprobe {

// A file that appears under its name when it is complete: until commit() it is `path`.partial, and
// without commit() that is removed. What `path` was before stays until then.
class NewFile {
 public:
  static Result<NewFile> create(const std::filesystem::path& path);
  // Nothing if another run has the name, or is about to. Of several that try only one gets it.
  static Result<std::optional<NewFile>> create_if_free(const std::filesystem::path& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&& other) noexcept;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  Result<void> write(std::string_view bytes) const;
  Result<void> sync() const;  // the bytes reach the disk
  Result<void> commit();

  // The file under a name that nobody can redirect, for libraries that open files by name.
  std::string descriptor_path() const;

 private:
  NewFile(std::filesystem::path path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::filesystem::path partial() const;
  void forget();
  void discard();

  std::filesystem::path path_;
  Descriptor fd_;    // none: committed, or moved from
  int listed_ = -1;  // its place among the unfinished files; -1: none
};

// For a handler of a signal that ends the program: removes every partial file.
void remove_unfinished_files() noexcept;

// The whole of a small file.
Result<void> write_new_file(const std::filesystem::path& path, std::string_view bytes);
// And its name is on the disk too: after a loss of power the file is complete or not there.
Result<void> write_durable_file(const std::filesystem::path& path, std::string_view bytes);
// The content of `from`.
Result<void> copy_to_new_file(const std::filesystem::path& from, const std::filesystem::path& to);

enum class Reading : std::uint8_t { kNo, kYes };

// A file that has its name from the start, for what grows over a run; bytes go to its end. It must
// not exist yet (errno is EEXIST then). None: errno says why.
Descriptor create_in_place(const std::filesystem::path& path, Reading reading = Reading::kNo);
// In the place of whatever has that name and is not a directory; bytes may go anywhere in it.
Descriptor replace_in_place(const std::filesystem::path& path, Reading reading = Reading::kNo);
enum class Writing : std::uint8_t { kAppends, kAnywhere };
// A file that exists.
Descriptor reopen_in_place(const std::filesystem::path& path, Reading reading, Writing writing);

// All of it, whatever the file takes at once. False: errno says why.
bool write_fully(int descriptor, std::string_view bytes);
// The bytes reach the disk; true also for files that cannot do that, such as pipes.
bool sync_fully(int descriptor);

// Every directory of `path` that is missing. On failure errno says why.
Result<void> make_directories(const std::filesystem::path& path);

}  // namespace msprobe
