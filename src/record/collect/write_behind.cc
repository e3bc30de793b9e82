// SPDX-License-Identifier: Apache-2.0
#include "collect/write_behind.h"

#include <utility>

#include <fcntl.h>

namespace msprobe::collect {
namespace {

// Smaller files are cheap to keep, and the disk takes them better together.
constexpr std::size_t kLeastSize = 1U << 20;
constexpr std::size_t kMaxWaiting = 256;  // files
// How many the disk may have at a time, so that it is never idle while one is waited for.
constexpr std::size_t kMaxBeingWritten = 16;

}  // namespace

WriteBehind::WriteBehind() : thread_([this] { run(); }) {}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  added_.notify_one();
  thread_.join();
}

void WriteBehind::add(const std::string& path, std::size_t size) {
  if (size < kLeastSize) return;
  {
    const std::lock_guard lock(mutex_);
    if (paths_.size() >= kMaxWaiting) return;
    paths_.push_back(path);
  }
  added_.notify_one();
}

void WriteBehind::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    std::string path;
    if (!paths_.empty()) {
      path = std::move(paths_.front());
      paths_.pop_front();
    } else if (being_written_.empty()) {
      added_.wait(lock);
      continue;
    }
    lock.unlock();
    if (!path.empty()) start_writing(path);
    if (path.empty() || being_written_.size() > kMaxBeingWritten) drop_oldest();
    lock.lock();
  }
}

// What fails here costs only time: the kernel writes the file later.
void WriteBehind::start_writing(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return;
  ::sync_file_range(file.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  being_written_.push_back(std::move(file));
}

void WriteBehind::drop_oldest() {
  if (being_written_.empty()) return;
  const Descriptor file = std::move(being_written_.front());
  being_written_.pop_front();
  ::sync_file_range(file.get(), 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE);
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace msprobe::collect
