// SPDX-License-Identifier: Apache-2.0
// The tensors of a recorder: memory for copies of them, and the threads that write their files.
#include <algorithm>
#include <chrono>
#include <new>
#include <span>
#include <utility>

#include "collect/recorder.h"

namespace msprobe::collect {
namespace {

constexpr std::size_t kMaxSpareBytes = 256U << 20;

}  // namespace

std::unique_ptr<Buffer> Recorder::take_buffer(std::size_t size, Bound bound) {
  if (size > Buffer().max_size()) return nullptr;
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [&] {
    return bound == Bound::kIgnored || pending_bytes_ == 0 ||
           (pending_bytes_ + size <= max_pending_bytes_ && !saving_cost_.is_far_behind());
  });
  pending_bytes_ += size;
  // A buffer that was used before costs no page faults; one far too large would waste the bound.
  const auto fits = std::ranges::find_if(spare_, [&](const std::unique_ptr<Buffer>& buffer) {
    return buffer->size() >= size && buffer->size() / 2 <= size;
  });
  if (fits != spare_.end()) {
    std::unique_ptr<Buffer> found = std::move(*fits);
    spare_.erase(fits);
    spare_bytes_ -= found->size();
    return found;
  }
  lock.unlock();
  try {
    return std::make_unique<Buffer>(size);
  } catch (const std::bad_alloc&) {
    lock.lock();
    pending_bytes_ -= size;
    progress_.notify_all();
    return nullptr;
  }
}

void Recorder::give_back(std::unique_ptr<Buffer> buffer, std::size_t size) {
  const std::lock_guard lock(mutex_);
  pending_bytes_ -= size;
  spare_bytes_ += buffer->size();
  spare_.push_back(std::move(buffer));
  while (spare_bytes_ > kMaxSpareBytes) {
    spare_bytes_ -= spare_.front()->size();
    spare_.erase(spare_.begin());
  }
  progress_.notify_all();
}

void Recorder::save(TensorFile file) {
  {
    const std::lock_guard lock(mutex_);
    saving_cost_.add(file.size);
    files_.push_back(std::move(file));
  }
  new_files_.notify_one();
}

void Recorder::free_memory() {
  const std::lock_guard lock(mutex_);
  spare_.clear();
  spare_bytes_ = 0;
}

void Recorder::save_files() {
  std::unique_lock lock(mutex_);
  while (true) {
    new_files_.wait(lock, [&] { return stop_ || !files_.empty(); });
    if (files_.empty()) return;
    TensorFile file = std::move(files_.front());
    files_.pop_front();
    const std::uint64_t number = first_file_++;
    files_at_work_.insert(number);
    lock.unlock();
    const std::chrono::nanoseconds begun = cpu_time(CLOCK_THREAD_CPUTIME_ID);
    const Result<void> written =
        tensors_.save(file.path, file.dtype, file.shape, std::span(*file.buffer).first(file.size));
    const std::chrono::nanoseconds took = cpu_time(CLOCK_THREAD_CPUTIME_ID) - begun;
    give_back(std::move(file.buffer), file.size);
    lock.lock();
    note(written);
    files_at_work_.erase(number);
    saving_cost_.remove(file.size, took);
    progress_.notify_all();
    if (is_late_) work_.notify_one();
  }
}

bool Recorder::files_are_saved_before(std::uint64_t number) const {
  return first_file_ >= number && (files_at_work_.empty() || *files_at_work_.begin() >= number);
}

}  // namespace msprobe::collect
