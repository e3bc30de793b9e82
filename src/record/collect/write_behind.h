// SPDX-License-Identifier: Apache-2.0
// Sends large files to the disk as soon as they are written and takes them out of the page cache,
// with its own thread. A dump of tensors is gigabytes that nobody reads soon: in the cache
// they would push out the training's own data, and fresh memory for them costs more than the
// writing.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "core/descriptor.h"

namespace msprobe::collect {

class WriteBehind {
 public:
  WriteBehind();
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  // Never waits: where the disk does not keep up, files are left to the kernel.
  void add(const std::string& path, std::size_t size);

 private:
  void run();
  void start_writing(const std::string& path);
  void drop_oldest();

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::string> paths_;
  bool stop_ = false;
  std::deque<Descriptor> being_written_;  // the thread's own, in the order they were added
  std::thread thread_;
};

}  // namespace msprobe::collect
