// SPDX-License-Identifier: Apache-2.0
#include "collect/tensor_store.h"

#define XXH_INLINE_ALL  // no library to be loaded into the user's Python
#include <unistd.h>
#include <xxhash.h>

#include "collect/pt_file.h"
#include "core/crc32.h"

namespace msprobe::collect {
namespace {

// A small tensor costs a block on disk either way.
constexpr std::size_t kLeastShared = 4096;

}  // namespace

Result<void> TensorStore::save(const std::string& path, DType dtype,
                               const std::vector<std::int64_t>& shape,
                               std::span<const std::byte> bytes) {
  remove_earlier(path);
  if (bytes.size() < kLeastShared) return write(path, dtype, shape, bytes);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  const Key key{hash.low64, hash.high64, dtype, shape};
  const std::string earlier = earlier_file(key, path);
  const bool has_earlier = earlier != path;
  if (has_earlier && ::link(earlier.c_str(), path.c_str()) == 0) return {};
  const Result<void> result = write(path, dtype, shape, bytes);
  if (!has_earlier) {
    const std::lock_guard lock(mutex_);
    if (result) {
      saved_[key].is_written = true;
    } else {
      saved_.erase(key);
    }
    written_.notify_all();
  }
  return result;
}

// The file that holds the tensor already; `path`, if the caller has to write it.
std::string TensorStore::earlier_file(const Key& key, const std::string& path) {
  std::unique_lock lock(mutex_);
  auto place = saved_.try_emplace(key, path, false).first;
  while (place->second.path != path && !place->second.is_written) {
    written_.wait(lock);
    place = saved_.try_emplace(key, path, false).first;
  }
  return place->second.path;
}

// A file of that name may be linked to by others: it is left to them, not overwritten.
void TensorStore::remove_earlier(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return;
  ::unlink(path.c_str());
  const std::lock_guard lock(mutex_);
  std::erase_if(saved_, [&](const auto& entry) { return entry.second.path == path; });
}

Result<void> TensorStore::write(const std::string& path, DType dtype,
                                const std::vector<std::int64_t>& shape,
                                std::span<const std::byte> bytes) {
  const Result<void> result = path.ends_with(".npy")
                                  ? write_npy(path, dtype, shape, bytes)
                                  : write_pt(path, dtype, shape, bytes, crc32(0, bytes));
  if (result) behind_.add(path, bytes.size());
  return result;
}

void TensorStore::forget() {
  const std::lock_guard lock(mutex_);
  saved_.clear();
}

}  // namespace msprobe::collect
