// SPDX-License-Identifier: Apache-2.0
// Tensor files of one step. A tensor that was saved before is not written again: its new name
// becomes a hard link to the earlier file. A result is an argument of the next call, so this halves
// a dump.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "collect/write_behind.h"
#include "core/dtype.h"
#include "core/result.h"

namespace msprobe::collect {

// Any number of threads may save.
class TensorStore {
 public:
  // The file is replaced where it exists.
  Result<void> save(const std::string& path, DType dtype, const std::vector<std::int64_t>& shape,
                    std::span<const std::byte> bytes);

  // A new step: later tensors are not linked to what was saved so far.
  void forget();

 private:
  // Two halves of a 128-bit hash of the bytes: chance does not make two of them equal.
  using Key = std::tuple<std::uint64_t, std::uint64_t, DType, std::vector<std::int64_t>>;
  struct Saved {
    std::string path;
    bool is_written = false;  // else a thread is at it
  };

  Result<void> write(const std::string& path, DType dtype, const std::vector<std::int64_t>& shape,
                     std::span<const std::byte> bytes);
  std::string earlier_file(const Key& key, const std::string& path);
  void remove_earlier(const std::string& path);

  std::mutex mutex_;
  std::condition_variable written_;
  std::map<Key, Saved> saved_;
  WriteBehind behind_;
};

}  // namespace msprobe::collect
