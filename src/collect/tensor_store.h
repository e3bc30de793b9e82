// Tensor files of one step. A tensor that was saved before is not written again: its new name
// becomes a hard link to the earlier file. A result is an argument of the next call, so this halves
// a dump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"

namespace msprobe::collect {

// Any number of threads may save.
class TensorStore {
 public:
  Result<void> save(const std::string& path, DType dtype, const std::vector<std::int64_t>& shape,
                    std::span<const std::byte> bytes);

  // A new step: later tensors are not linked to what was saved so far.
  void forget();

 private:
  using Key = std::tuple<std::uint32_t, DType, std::vector<std::int64_t>>;  // CRC-32 of the bytes
  struct Saved {
    std::string path;
    std::uint64_t data_offset = 0;
  };
  std::mutex mutex_;
  std::map<Key, Saved> saved_;
};

}  // namespace msprobe::collect
