// SPDX-License-Identifier: Apache-2.0
// Memory that files can ask for without having it themselves, as a compressed one does. All of them
// together get a share of the machine, however many threads read at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace msprobe {

class MemoryShare {
 public:
  explicit MemoryShare(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;

  // Memory that counts until nobody holds it; nullptr if it is more than what is left. The share
  // must live longer.
  std::shared_ptr<std::byte[]> take(std::uint64_t bytes);

  std::uint64_t most_bytes() const { return most_bytes_; }
  std::uint64_t taken_bytes() const { return taken_; }

 private:
  std::uint64_t most_bytes_;
  std::atomic<std::uint64_t> taken_ = 0;
};

// Half of the machine, for what is inflated.
MemoryShare& inflated_share();

}  // namespace msprobe
