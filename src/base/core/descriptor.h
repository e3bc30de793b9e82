// SPDX-License-Identifier: Apache-2.0
// A file descriptor that is closed when it goes out of scope.
#pragma once

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace msprobe {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return fd_; }  // -1: none
  explicit operator bool() const { return fd_ >= 0; }
  // False: what was written to it did not all arrive; errno says why.
  bool close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0 || errno == EINTR; }

 private:
  int fd_ = -1;
};

}  // namespace msprobe
